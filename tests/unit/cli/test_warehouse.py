"""The tables of the pipeline as the history that commands ask; the pipeline's part is answered by the test."""

from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands.route_at import route_at
from namekeeper.cli.commands.why import why
from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.errors import ConfigError
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.manifest import Catalog, Manifest, commit_manifest

pytest.importorskip("pyspark")

ROWS = {
    "topic_route": [
        {
            "namesrv": "ns-1", "broker_name": "b", "topic": "T", "read_queue_nums": 4, "write_queue_nums": 4,
            "perm": 6, "topic_sys_flag": 0,
        }
    ],
    "broker_group_history": [
        {
            "namesrv": "ns-1", "broker_name": "b", "cluster": "c",
            "members": [{"broker_id": 0, "broker_addr": "a:1"}],
        }
    ],
}  # fmt: skip


@pytest.fixture
def source(monkeypatch):
    from namekeeper.pipeline.answers import engines
    from namekeeper.pipeline.answers import topics as answers

    asked = []
    ends = [{"namesrv": "ns-1", "knows_up_to": 10}, {"namesrv": "ns-2", "knows_up_to": 20}]

    def knowledge(tables, at, namesrv):
        return [row for row in ends if namesrv in (None, row["namesrv"])]

    def route_rows(tables, topic, at, namesrv):
        asked.append(at)
        known = [("ns-1", "known", 10, ROWS), ("ns-2", "unknown", 20, {})]
        return [answers.RouteRows(*row) for row in known if namesrv in (None, row[0])]

    monkeypatch.setattr(engines, "open_tables", lambda uri, session: uri)
    monkeypatch.setattr(answers, "knowledge", knowledge)
    monkeypatch.setattr(answers, "uncertain_until", lambda tables, at, namesrv: None)
    monkeypatch.setattr(answers, "route_rows", route_rows)
    monkeypatch.setattr(
        answers, "held_rows", lambda tables, at, namesrv: route_rows(tables, None, at, namesrv)
    )

    def make(namesrv=None):
        return WarehouseAnswers("file:/w", lambda: "a session", namesrv)

    return SimpleNamespace(make=make, asked=asked)


def test_a_route_is_made_of_rows_by_the_servers_own_rules(source):
    one, two = source.make().routes("T", 5)
    assert (one.namesrv, one.at, one.knowledge, one.knows_up_to) == ("ns-1", 5, Knowledge.KNOWN, 10)
    assert [broker.broker_addrs for broker in one.route.broker_datas] == [{0: "a:1"}]
    assert (two.namesrv, two.knowledge, two.route) == ("ns-2", Knowledge.UNKNOWN, None)


def test_without_an_instant_it_is_the_end_of_each(source):
    assert [route.at for route in source.make().routes("T", None)] == [10, 20]
    assert source.asked == [10, 20]


def test_a_name_server_that_is_not_there(source):
    assert [route.namesrv for route in source.make("ns-2").routes("T", 5)] == ["ns-2"]
    with pytest.raises(ConfigError, match="no journal of 'ns-3'"):
        source.make("ns-3").routes("T", 5)


def test_all_that_one_of_them_held(source):
    made = source.make()
    assert made.namesrvs() == ["ns-1", "ns-2"]
    one, two = made.held("ns-1", 5), made.held("ns-2", None)
    assert (one.at, one.knowledge, one.knows_up_to) == (5, Knowledge.KNOWN, 10)
    assert one.state.tables.topics() == ["T"]
    assert (two.at, two.knowledge, two.state) == (20, Knowledge.UNKNOWN, None)


def test_a_folder_that_is_no_warehouse_is_refused(tmp_path):
    with pytest.raises(CommandRefused):
        WarehouseAnswers(str(tmp_path), pytest.fail)


@pytest.mark.parametrize("command", [route_at, why])
def test_the_spark_that_options_ask_for_is_the_one_that_answers(monkeypatch, tmp_path, command):
    asked = []

    def get_session(*, remote, master, conf):
        asked.append((remote, master, conf))
        raise PipelineError("it does not start")

    monkeypatch.setattr("namekeeper.pipeline.session.get_session", get_session)
    catalog = Catalog("iceberg", "nk.namekeeper", "mark")
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, "UTC", "", {}, catalog))
    words = ["T", "--warehouse", str(tmp_path), "--memory", "1g", "--master", "local[1]", "--conf", "a=b"]
    done = CliRunner().invoke(command, words, env={"SPARK_REMOTE": "sc://spark"})
    assert (done.exit_code, done.stderr.endswith(": it does not start\n")) == (2, True)
    assert asked == [("sc://spark", "local[1]", {"spark.driver.memory": "1g", "a": "b"})]
