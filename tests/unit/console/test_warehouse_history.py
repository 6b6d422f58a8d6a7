"""The history that the console makes of a warehouse is that of the journals, at every name server."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from namekeeper.answers.route import route_at
from namekeeper.console.broker_sessions import broker_sessions
from namekeeper.console.histories import Histories
from namekeeper.console.warehouse_history import warehouse_history
from namekeeper.errors import ConfigError
from namekeeper.history.history import History
from namekeeper.history.rows import FilterKey, GroupKey, LiveKey, MappingKey, TopicKey
from namekeeper.history.timeline import PeriodState
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.pipeline.answers.queries import Answer, AnswerTables
from namekeeper.pipeline.errors import WarehouseError
from tests.support.journal.history import history_of
from tests.support.pipeline.file_warehouse import SEED, FileWarehouse, file_warehouse
from tests.support.pipeline.law import read
from tests.unit.console.test_histories import Clock

INSTANTS = 6


@pytest.fixture(scope="module")
def warehouse() -> FileWarehouse:
    """Of made-up name servers: losses, kills and clocks that go back included."""
    return file_warehouse()


@pytest.fixture(scope="module")
def found(warehouse: FileWarehouse) -> dict[str, History]:
    histories = Histories([warehouse_history(warehouse.tables)], limit_bytes=1 << 32)  # one world has dozens
    assert all(histories.read(source) for source in histories.all)
    assert not any(histories.read(source) for source in histories.all)
    return {each.history.namesrv: each.history for each in histories.followed}


def test_name_servers_with_a_label_are_those_of_the_warehouse(warehouse: FileWarehouse):
    """These have none."""
    every = warehouse_history(warehouse.tables).namesrvs()
    assert warehouse_history(warehouse.tables, label="").namesrvs() == every
    with pytest.raises(ConfigError, match="there is no cluster 'east': no name server has a label"):
        warehouse_history(warehouse.tables, label="east")


def journals(warehouse: FileWarehouse) -> dict[str, History]:
    return {
        namesrv: history_of(namesrv, read(world.records[namesrv]))
        for world, namesrv, _ in warehouse.law.servers()
    }


def test_every_instant_is_that_of_the_journal(warehouse: FileWarehouse, found: dict[str, History]):
    rng, known, orders = random.Random(SEED), 0, 0
    wanted = journals(warehouse)
    assert found.keys() == wanted.keys()
    for namesrv, history in wanted.items():
        other = found[namesrv]
        assert other.knows_from == history.knows_from, namesrv
        assert other.knows_up_to == history.knows_up_to, namesrv
        assert other.periods() == history.periods(), namesrv
        if history.knows_from is None:
            continue
        for at in rng.choices(range(history.knows_from, history.knows_up_to + 1), k=INSTANTS):
            assert other.knowledge(at) == history.knowledge(at), (namesrv, at)
            if history.knowledge(at) is not Knowledge.KNOWN:
                continue
            known += 1
            for kind in (LiveKey, GroupKey, TopicKey, MappingKey, FilterKey):
                assert dict(other.rows(kind, at)) == dict(history.rows(kind, at)), (namesrv, kind, at)
            for topic in rng.sample(sorted(history.topics()), min(2, len(list(history.topics())))):
                assert route_at(other, topic, at).route == route_at(history, topic, at).route, (
                    namesrv,
                    topic,
                    at,
                )
            namespace = "ORDER_TOPIC_CONFIG"
            assert other.kv_at(at, namespace) == history.kv_at(at, namespace), (namesrv, at)
            orders += bool(history.kv_at(at, namespace))
    assert known > len(wanted)
    assert orders


def test_what_happened_is_that_of_the_journal(warehouse: FileWarehouse, found: dict[str, History]):
    for namesrv, history in journals(warehouse).items():
        got, expected = (
            [(each.at, each.what, each.cause, each.peer, sorted(each.rows, key=repr)) for each in events]
            for events in (found[namesrv].events, history.events)
        )
        assert got == expected, namesrv


class Broken:
    """Tables that can't be read at first."""

    report_time_zone = "UTC"

    def __init__(self, tables: AnswerTables) -> None:
        self._tables = tables
        self.is_broken = True

    def ask(self, name: str, args: Mapping[str, Any], *, limit: int | None = None) -> Answer:
        if self.is_broken and name != "knowledge":
            raise WarehouseError("it can't be read")
        return self._tables.ask(name, args, limit=limit)


def test_tables_that_can_not_be_read_are_told_and_tried_again_later(warehouse: FileWarehouse):
    tables, clock = Broken(warehouse.tables), Clock(5)
    histories = Histories([warehouse_history(tables, clock)])
    source, *_ = histories.all
    assert histories.read(source)
    assert source.followed.problem == "it can't be read"
    tables.is_broken = False
    assert not histories.read(source)
    clock.mono_ms += 60_000
    assert histories.read(source)
    assert (source.followed.problem, source.followed.progress) == ("", (1, 1))


def test_the_sessions_of_brokers_are_those_of_the_table(warehouse: FileWarehouse, found: dict[str, History]):
    """Where records were lost the table has a row before and a row after, and the page one session, if it is one."""
    rows = warehouse.rows("broker_session")
    exact = 0
    for namesrv, history in found.items():
        told = {
            (each["cluster"], each["addr"], each["since"]): each["until"]
            for addr in {key.broker_addr for key in history.keys(LiveKey)}
            for each in broker_sessions([history], addr)
            if each["until"] != each["since"]  # begun in the millisecond of a loss, and not seen again
        }
        wanted: dict[tuple[str, str, int], int | None] = {}
        begins: dict[tuple[int, int, str], int] = {}
        for row in sorted(rows, key=lambda row: row["valid_from"]):
            if row["namesrv"] == namesrv:  # a session has a row for each version of its data
                session = row["boot"], row["gen"], row["broker_addr"]
                since = begins.setdefault(session, row["valid_from"])
                wanted[row["cluster"], row["broker_addr"], since] = row["valid_to"]
        if not any(period.state is PeriodState.UNKNOWN for period in history.periods()):
            assert told == wanted, namesrv
            exact += len(told)
            continue
        end = history.knows_up_to + 1
        for (cluster, addr, since), until in wanted.items():
            assert any(
                key[:2] == (cluster, addr) and key[2] <= since and (ended or end) >= (until or end)
                for key, ended in told.items()
            ), (namesrv, addr, since)
        for (cluster, addr, since), until in told.items():
            assert any(
                key[:2] == (cluster, addr) and since < (ended or end) and key[2] < (until or end)
                for key, ended in wanted.items()
            ), (namesrv, addr, since)
    assert exact > 100
