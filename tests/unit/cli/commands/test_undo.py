"""`namekeeper undo`: the plan, what is sent, bad input."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from namekeeper.cli.connecting import Connector
from namekeeper.cli.group import namekeeper
from namekeeper.model.broker import BrokerData
from tests.support.journal.folder import journals_of
from tests.support.pipeline.file_warehouse import file_warehouse
from tests.unit.admin.fake_namesrv import DEAD, A, FakeNamesrv, FakeSender, queues
from tests.unit.answers.story import Story

SINCE = ("--from", "2023-11-14T22:13:22Z", "--zone", "UTC")
EARLIER = ("--from", "2023-11-14T22:13:21Z")


class Mistake:
    """A journal of a name server at which people wiped, deleted and changed; and that name server."""

    def __init__(self, folder):
        story = Story("a_1")
        story.registers()
        story.ordered("T", "b0:4")
        story.wiped()
        story.deleted("T")
        story.ordered("T", None)
        self.journal = story.folder(folder)
        self.server = FakeNamesrv(
            brokers={"b0": BrokerData("c", "b0", {0: "a0:1"})},
            topics={"other": [queues("b0", 4, perm=4)], "more": [queues("b0", 4, perm=4)]},
        )

    def undo(self, *words):
        return undo(self.journal, self.server, *words)


def undo(journal, server, *words):
    sender = FakeSender({A: server})
    command = ["undo", *SINCE, "--journal", journal, *words]
    return CliRunner().invoke(namekeeper, command, obj=Connector(sender.opened))


@pytest.fixture
def mistake(tmp_path):
    return Mistake(tmp_path / "j")


def test_the_plan_says_what_would_be_sent_and_sends_nothing(mistake):
    result = mistake.undo()
    assert result.exit_code == 0
    wiped = "write permission wiped by peer:99, 2023-11-14 22:13:23.000 UTC"
    assert result.output.splitlines() == [
        'order configuration of T: none -> "b0:4"  (KV entry deleted by peer:99, 2023-11-14 22:13:25.000 UTC)',
        f"topic T on b0: none -> RW- 4/4 queues  ({wiped})",
        f"topic more on b0: R-- 4/4 queues -> RW- 4/4 queues  ({wiped})",
        f"topic other on b0: R-- 4/4 queues -> RW- 4/4 queues  ({wiped})",
        "4 requests would be sent: add --apply HOST:PORT to send them",
    ]
    assert mistake.server.kv == {}


def test_the_plan_is_sent_to_the_name_server_that_is_given(mistake):
    result = mistake.undo("--apply", A)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == f"4 of 4 rows restored at {A}"
    assert mistake.server.kv == {"ORDER_TOPIC_CONFIG": {"T": "b0:4"}}
    assert mistake.server.topics == {topic: [queues("b0", 4)] for topic in ("other", "more", "T")}


def test_a_name_server_that_holds_something_else_is_left_alone(mistake):
    mistake.server.topics["more"] = [queues("b0", 8, perm=4)]
    result = mistake.undo("--apply", A)
    assert result.exit_code == 1
    assert mistake.server.topics["more"] == [queues("b0", 8, perm=4)]
    assert f"{A} holds another row than that" in result.output
    assert f"3 of 4 rows restored at {A}" in result.output


def test_a_request_that_changes_nothing_is_no_success(mistake):
    del mistake.server.brokers["b0"]
    mistake.server.topics.clear()
    result = mistake.undo("T", "--apply", A)
    assert result.exit_code == 1
    assert "sent in vain: topic T on b0" in result.output


def test_only_one_name_is_restored(mistake):
    result = mistake.undo("more")
    assert [line.partition(":")[0] for line in result.output.splitlines()] == [
        "topic more on b0",
        "1 request would be sent",
    ]


def test_json_has_the_rows(mistake):
    plan = json.loads(mistake.undo("more", "--json").output)
    assert plan["left"] == []
    (row,) = plan["restored"]
    assert (row["kind"], row["key"], row["cause"]) == ("topic", ["more", "b0"], "wipe_write_perm")
    assert row["before"] != row["after"]


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--to", "2023-11-14T22:13:21Z"), 2, "is after --to"),
        (("--apply", "nowhere"), 2, "--apply"),
        (("--apply", DEAD), 3, DEAD),
    ],
)
def test_what_can_not_be_done_is_said(mistake, words, status, text):
    result = mistake.undo(*words)
    assert result.exit_code == status
    assert text in result.output


def test_a_refusal_ends_it_and_the_rows_before_are_counted(mistake):
    mistake.server.refusals[217] = (3, "request type 217 not supported")
    result = mistake.undo("T", "--apply", A)
    assert result.exit_code == 2
    assert "request type 217 not supported" in result.output
    assert mistake.server.kv["ORDER_TOPIC_CONFIG"] == {"T": "b0:4"}
    assert f"1 of 2 rows restored at {A}" in result.output


def test_a_name_without_records_is_a_note_with_a_similar_name(mistake):
    result = mistake.undo("oter")
    assert (result.exit_code, result.stdout) == (0, "nothing is to be restored\n")
    assert "there is no record of a topic, broker or address 'oter': did you mean other?" in result.stderr
    assert mistake.undo("b0").stderr == ""


def test_a_name_without_changes_in_that_time_is_no_note(mistake):
    assert mistake.undo("T", "--from", "2023-11-14T22:13:26Z").stderr == ""


def test_the_time_that_a_clock_showed_is_repeated_with_its_date(mistake):
    note = mistake.undo("--from", "03:12").stderr
    assert note.startswith("note: changes after 2")
    assert " 03:12:00.000 UTC, up to 2" in note


def test_a_plan_without_rows_reports_nothing_as_restored(mistake):
    result = mistake.undo("--from", "2023-11-14T22:13:26Z", "--apply", A)
    assert (result.exit_code, result.output) == (0, "nothing is to be restored\n")


def test_a_row_that_is_there_already_is_said_to_be(mistake):
    assert mistake.undo("more", "--apply", A).exit_code == 0
    again = mistake.undo("more", "--apply", A)
    assert again.exit_code == 1
    assert f"{A} holds that already" in again.stderr


def test_another_refusal_of_a_lookup_ends_it(mistake):
    mistake.server.refusals[105] = (1, "no time")
    result = mistake.undo("T", "--apply", A)
    assert result.exit_code == 2
    assert "no time" in result.output


def test_an_entry_that_was_not_there_is_deleted(tmp_path):
    story = Story("a_1")
    story.registers()
    story.ordered("T", "b0:4")
    story.ordered("T", "b0:8")
    server = FakeNamesrv(kv={"ORDER_TOPIC_CONFIG": {"T": "b0:8"}})
    result = undo(story.folder(tmp_path / "j"), server, *EARLIER, "--apply", A)
    assert result.exit_code == 0, result.output
    assert server.kv.get("ORDER_TOPIC_CONFIG", {}) == {}


def test_nothing_is_restored_of_a_time_without_a_mistake(mistake):
    result = mistake.undo("--from", "2023-11-14T22:13:26Z")
    assert (result.exit_code, result.output) == (0, "nothing is to be restored\n")


def test_the_present_state_must_be_known(tmp_path):
    story = Story("a_1")
    story.registers()
    story.wiped()
    story.stops()
    result = undo(story.folder(tmp_path / "j"), FakeNamesrv())
    assert result.exit_code == 3
    assert "the present state of the name server is not known" in result.output


def test_a_loss_is_named(tmp_path):
    story = Story("a_1")
    story.registers()
    story.wiped()
    story.crashes()
    story.alive()
    result = undo(story.folder(tmp_path / "j"), FakeNamesrv(), *EARLIER)
    assert (
        "note: records were lost since: a change among them is not taken back" in result.output.splitlines()
    )


def test_a_row_that_has_changed_again_is_left(mistake, tmp_path):
    story = Story("a_1")
    story.registers()
    wiped = story.wiped()
    story.registers(perm=2)
    words = ("T", *EARLIER, "--to", f"{(wiped + 500) / 1_000:.3f}")
    result = undo(story.folder(tmp_path / "j"), mistake.server, *words)
    assert result.exit_code == 1
    assert "left: topic T on b0" in result.output
    assert "it changed again" in result.output


def test_of_several_name_servers_one_is_chosen(mistake, tmp_path):
    other = Story("b_1")
    other.registers()
    folder = other.folder(tmp_path / "other")
    result = mistake.undo("--journal", folder)
    assert result.exit_code == 2
    assert "choose one by --namesrv: a_1, b_1" in result.output
    assert mistake.undo("--journal", folder, "--namesrv", "b_1").exit_code == 0


def test_the_plan_from_a_warehouse_is_that_from_the_journal(tmp_path: Path):
    warehouse = file_warehouse()
    planned = 0
    for world in warehouse.law.histories[1:3]:
        for namesrv, records in world.records.items():
            folder = tmp_path / namesrv
            journals_of(folder, {namesrv: records})
            words = ["undo", "--from", str(records[len(records) // 3]["ts"]), "--json", "--zone", "UTC"]
            wanted, found = (
                CliRunner().invoke(namekeeper, [*words, *source])
                for source in (
                    ("--journal", str(folder)),
                    ("--warehouse", warehouse.uri, "--namesrv", namesrv),
                )
            )
            assert (found.exit_code, found.stdout) == (wanted.exit_code, wanted.stdout)
            planned += bool(wanted.stdout) and len(json.loads(wanted.stdout)["restored"])
    assert planned > 3
