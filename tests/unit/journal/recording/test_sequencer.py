"""Numbers are given in order and used up, also by what is dropped."""

import pytest

from namekeeper.journal.contract.activity import LookupHour
from namekeeper.journal.contract.record import Kv, ServerAlive, ServerStarted, TopicQueues
from namekeeper.journal.queue.backlog import Backlog
from namekeeper.journal.recording.sequencer import Sequencer
from namekeeper.journal.recording.timeline import ChangeTime
from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import BrokerHeard, Cause, Change, TopicQueuesChanged
from namekeeper.route.rows import make_row
from tests.unit.journal.loop_parts import kv_change, taken

NOW = ChangeTime(1_700_000_000_000, 7)
ROW = make_row(QueueSpec(), QueueSpec())
ROWS = {f"T{number}": ROW for number in range(100)}


@pytest.fixture
def backlog():
    return Backlog(10_000)


@pytest.fixture
def sequencer(backlog):
    sequencer = Sequencer(backlog)
    sequencer.begin(lambda: ServerStarted(uuid="u", server_version="t"), NOW)
    return sequencer


def test_changes_and_records_are_numbered_one_after_the_other(sequencer, backlog):
    sequencer.change(kv_change(count=3), NOW)
    sequencer.record(ServerAlive(connections=1), NOW, checkpoint=2)
    records = taken(backlog)
    assert [(r["kind"], r["seq"], r["change"], r.get("end", False)) for r in records] == [
        ("server_started", 1, 1, True), ("kv", 2, 2, False), ("kv", 3, 2, False), ("kv", 4, 2, True),
        ("server_alive", 5, 5, True),
    ]  # fmt: skip
    assert records[-1]["checkpoint"] == 2
    assert {(r["ts"], r["up_ms"]) for r in records} == {(NOW.ts, NOW.up_ms)}
    assert sequencer.last_seq == 5


def test_restored_routes_are_queued_without_room_and_take_none(sequencer, backlog):
    """Their tables are those that the server serves from."""
    rows = dict.fromkeys((f"T{number}" for number in range(500)), ROW)
    sequencer.change(Change(Cause.RESTORED, None, (TopicQueuesChanged("b", {}, rows, tuple(rows)),)), NOW)
    assert (sequencer.dropped_changes, len(backlog)) == (0, 2)
    sequencer.change(kv_change(), NOW)
    assert (sequencer.dropped_changes, len(backlog)) == (0, 3)


def test_what_is_no_state_takes_no_number(sequencer, backlog):
    sequencer.change(Change(Cause.HEARTBEAT, None, (BrokerHeard("c", "a", 1, 5),)), NOW)
    assert (sequencer.last_seq, len(backlog)) == (1, 1)


def test_what_does_not_fit_is_dropped_whole_and_its_numbers_are_missing(sequencer, backlog):
    rows = dict.fromkeys((f"T{number}" for number in range(500)), ROW)
    large = Change(
        Cause.REGISTER, None, (TopicQueuesChanged("b", {}, rows, tuple(rows)), *kv_change().events)
    )
    sequencer.change(large, NOW)
    sequencer.change(kv_change(), NOW)
    assert [record["seq"] for record in taken(backlog)] == [1, 4]
    assert (sequencer.dropped_changes, sequencer.dropped_records, sequencer.holes) == (1, 2, 1)


def test_what_must_be_queued_is(sequencer, backlog):
    sequencer.record(Kv(namespace="a", key="b", value="x" * 20_000), NOW)
    sequencer.record(Kv(namespace="a", key="b", value="x" * 20_000), NOW, must=True)
    assert [record["seq"] for record in taken(backlog)] == [1, 3]


def test_a_new_beginning_is_numbered_from_one(sequencer, backlog):
    sequencer.change(kv_change(), NOW)
    sequencer.begin(lambda: ServerStarted(uuid="v", server_version="t"), NOW)
    assert [record["seq"] for record in taken(backlog)] == [1, 2, 1]


@pytest.mark.parametrize(
    "put",
    [
        lambda sequencer: sequencer.change(
            Change(Cause.REGISTER, None, (TopicQueuesChanged("b", {}, ROWS, tuple(ROWS)),)), NOW
        ),
        lambda sequencer: sequencer.record(TopicQueues(broker_name="b", rows=[("T", 1, 1, 6, 0)] * 60), NOW),
        lambda sequencer: sequencer.record(LookupHour(hour=0, lookups=[("T", 1)] * 60), NOW),
        lambda sequencer: sequencer.record(Kv(namespace="", key="", value="x" * 6_000), NOW),
    ],
)
def test_what_holds_more_memory_weighs_more(sequencer, backlog, put):
    before = backlog.weight
    put(sequencer)
    assert backlog.weight - before > 5_000
