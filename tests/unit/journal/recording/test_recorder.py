"""Every record gets its position; what is dropped is followed by a checkpoint when there is room."""

import pytest
from msgspec import structs

from namekeeper.journal.contract.activity import Access
from namekeeper.journal.contract.record import ROWS_IN_A_RECORD, SegmentsDeleted
from namekeeper.journal.queue.backlog import Mark
from namekeeper.journal.recording.activity import MINUTE_MS
from namekeeper.journal.recording.recorder import (
    BUSY_S,
    CHECKPOINT_ROOM_BYTES,
    IDLE_S,
    RETENTION_PAUSE_MS,
    SOON_S,
)
from namekeeper.journal.recording.snapshot import Snapshot, take_snapshot
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import BrokerHeard, Cause, Change, KvChanged
from namekeeper.route.rows import make_row
from tests.support.server.builders import World, at
from tests.unit.journal.loop_parts import Rig, kv_change

ROW = make_row(QueueSpec(), QueueSpec())


def large_snapshot(names: int = 4, topics: int = ROWS_IN_A_RECORD) -> Snapshot:
    table = dict.fromkeys((f"T{number}" for number in range(topics)), ROW)
    return Snapshot({f"broker-{number}": table for number in range(names)}, (), ())


def run(rig, times: int = 50) -> None:
    for _ in range(times):
        rig.tick()


def test_a_boot_begins_with_its_start_and_a_checkpoint():
    rig = Rig()
    rig.snapshot = take_snapshot(
        World().tables, KvConfigStore({"ns": {"k": "v"}}), {"listenPort": "9876"}, now=at(0)
    )
    rig.recorder.begin()
    records = rig.taken()
    assert [(r["kind"], r["seq"], r.get("checkpoint")) for r in records] == [
        ("server_started", 1, None), ("checkpoint_begin", 2, None), ("kv", 3, 2), ("config", 4, 2),
        ("checkpoint_end", 5, 2),
    ]  # fmt: skip
    assert records[1]["reason"] == "start"
    assert records[4]["counts"] == {"kv": 1, "config": 1}
    assert {record["up_ms"] for record in records} == {0}


def test_a_boot_that_is_recorded_late_begins_when_it_began():
    """The journal is loaded after the server listens; a change that was made meanwhile is recorded next."""
    rig = Rig()
    rig.snapshot = take_snapshot(World().tables, KvConfigStore({"ns": {"k": "v"}}), now=at(0))
    begin = rig.clock.now()
    rig.clock.advance(40)
    changed = rig.clock.now()
    rig.clock.advance(5_000)
    rig.recorder.begin(begin)
    rig.recorder.record(kv_change(), changed)
    assert [(record["kind"], record["up_ms"]) for record in rig.taken()] == [
        ("server_started", 0), ("checkpoint_begin", 0), ("kv", 0), ("checkpoint_end", 0), ("kv", 40),
    ]  # fmt: skip


def test_nobody_is_heard_before_the_beginning():
    rig = Rig()
    assert rig.recorder.last_heard() is None
    rig.recorder.begin()
    assert rig.recorder.last_heard() == []


def test_nothing_is_recorded_before_the_beginning_nor_after_the_end():
    rig = Rig()
    rig.recorder.record(kv_change())
    rig.recorder.unknown_topic("T", "JAVA", 1)
    rig.recorder.denied(318, "h", "no")
    rig.recorder.note(SegmentsDeleted(segments=[], bytes=0, reason="age"))
    rig.recorder.end()
    assert rig.tick() == IDLE_S
    assert rig.taken() == []
    rig.recorder.begin()
    rig.recorder.stop()
    rig.taken()
    rig.recorder.record(kv_change())
    assert rig.taken() == []


def test_a_change_has_its_time_cause_and_peer():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    rig.clock.advance(1_234)
    rig.recorder.record(kv_change())
    (record,) = rig.taken()
    assert (record["cause"], record["peer"]) == ("put_kv_config", "10.9.0.1:5000")
    assert (record["ts"], record["up_ms"]) == (rig.clock.current.wall_ms, 1_234)


def test_what_happens_to_a_broker_is_recorded_and_counted():
    rig, world = Rig(), World()
    rig.recorder.begin()
    rig.taken()
    world.register()
    rig.recorder.record(Change(Cause.REGISTER, "p", tuple(world.events)))
    rig.recorder.record(
        Change(Cause.HEARTBEAT, "p", (BrokerHeard("DefaultCluster", "10.0.0.1:10911", 1, 9_000),))
    )
    assert set(rig.kinds()) == {
        "cluster",
        "broker_group",
        "broker_live",
        "topic_queues",
        "filter_servers",
    } - {"filter_servers"}
    rig.clock.advance(MINUTE_MS)
    rig.tick()
    (alive, minute) = rig.taken()
    assert (alive["kind"], alive["connections"]) == ("server_alive", 5)
    assert (minute["kind"], minute["count"], minute["max_gap_ms"]) == ("broker_minute", 2, 9_000)


def test_the_end_of_a_session_is_written_before_the_change_that_ends_it():
    rig, world = Rig(), World()
    rig.recorder.begin()
    world.register()
    rig.recorder.record(Change(Cause.REGISTER, "p", tuple(world.events)))
    rig.taken()
    world.events.clear()
    world.now = structs.replace(world.now, mono_ms=world.now.mono_ms + 121_000)
    world.scan()
    rig.recorder.record(Change(Cause.EXPIRED, None, tuple(world.events)))
    assert rig.kinds()[:2] == ["broker_minute", "broker_live"]


def test_a_step_of_the_clock_is_written_before_what_follows_and_told_once():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    rig.clock.advance(100, step_ms=-5_000)
    rig.recorder.record(kv_change())
    changed, kv = rig.taken()
    assert (changed["kind"], changed["step_ms"], changed["ts"]) == ("clock_changed", -5_000, kv["ts"])
    assert (rig.recorder.take_clock_step_ms(), rig.recorder.take_clock_step_ms()) == (-5_000, 0)


def test_each_minute_tells_what_nobody_has_and_what_was_refused():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    rig.recorder.unknown_topic("T", "JAVA", 453)
    rig.recorder.denied(318, "10.0.0.1", "no")
    begun = rig.clock.current.wall_ms
    rig.clock.advance(MINUTE_MS)
    rig.tick()
    _, unknown, denied = rig.taken()
    assert (unknown["topic"], unknown["minute"]) == ("T", begun - begun % MINUTE_MS)
    assert (denied["kind"], denied["code"], denied["host"]) == ("denied", 318, "10.0.0.1")


def test_look_ups_are_reported_by_the_hour_piece_by_piece():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    for number in range(3 * ROWS_IN_A_RECORD):
        rig.lookups.of(f"T{number}").count += 1
    rig.clock.advance(3_600_000)
    assert rig.tick() == SOON_S
    run(rig, 5)
    records = [record for record in rig.taken() if record["kind"] == "lookup_hour"]
    assert [len(record["lookups"]) for record in records] == [ROWS_IN_A_RECORD] * 3


def test_the_end_tells_everything_that_was_counted_and_its_own_position():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    rig.lookups.of("T").count += 1
    rig.recorder.unknown_topic("U", "JAVA", 1)
    rig.recorder.end()
    records = rig.taken()
    assert [record["kind"] for record in records] == ["unknown_topic_minute", "lookup_hour", "server_stopped"]
    assert records[-1]["last_seq"] == records[-1]["seq"]


def test_a_checkpoint_is_written_now_and_then_row_by_row():
    rig = Rig(checkpoint_ms=1_000)
    rig.recorder.begin()
    rig.taken()
    rig.snapshot = large_snapshot()
    assert rig.tick() == IDLE_S
    rig.clock.advance(1_000)
    assert rig.tick() == SOON_S
    rig.recorder.record(kv_change())
    run(rig, 5)
    records = rig.taken()
    assert [record["kind"] for record in records] == [
        "checkpoint_begin", "topic_queues", "topic_queues", "kv", "topic_queues", "topic_queues", "checkpoint_end",
    ]  # fmt: skip
    begin = records[0]["seq"]
    assert [record.get("checkpoint") for record in records] == [None, begin, begin, None, begin, begin, begin]
    assert records[0]["reason"] == "interval"
    assert records[-1]["counts"] == {"topic_queues": 4}


def test_the_writer_is_reported_where_a_checkpoint_begins_and_ends():
    rig = Rig()
    rig.snapshot = large_snapshot(names=1)
    rig.recorder.begin()
    marks = []
    while (entry := rig.backlog.take()) is not None:
        marks.append(entry.mark)
    assert marks == [Mark.NONE, Mark.CHECKPOINT_BEGIN, Mark.NONE, Mark.CHECKPOINT_END]


def test_rows_of_a_checkpoint_wait_while_there_is_little_room():
    rig = Rig(checkpoint_ms=1_000)
    rig.recorder.begin()
    rig.taken()
    rig.snapshot = large_snapshot()
    rig.clock.advance(1_000)
    rig.recorder.record(kv_change("x" * CHECKPOINT_ROOM_BYTES))
    rig.recorder.record(kv_change("x" * CHECKPOINT_ROOM_BYTES))
    rig.recorder.note(SegmentsDeleted(segments=[], bytes=0, reason="age"))
    while rig.backlog.weight < CHECKPOINT_ROOM_BYTES:
        rig.recorder.record(kv_change())
    assert rig.tick() == BUSY_S
    assert "topic_queues" not in rig.kinds()
    run(rig, 5)
    assert rig.kinds().count("topic_queues") == 4


def test_a_drop_is_healed_by_a_checkpoint_as_soon_as_there_is_room():
    rig = Rig(queue_bytes=6_500)
    rig.recorder.begin()
    rig.taken()
    for _ in range(10):
        rig.recorder.record(kv_change())
    assert rig.recorder.is_incomplete
    assert rig.recorder.sequencer.dropped_changes == 5
    rig.tick(is_writable=False)
    assert rig.recorder.is_incomplete
    assert [record["seq"] for record in rig.taken()] == [4, 5, 6, 7, 8]
    rig.tick()
    assert not rig.recorder.is_incomplete
    run(rig)
    records = rig.taken()
    assert [record["kind"] for record in records] == ["checkpoint_begin", "checkpoint_end"]
    assert (records[0]["reason"], records[0]["seq"]) == ("recovery", 14)


def test_changes_that_were_not_kept_have_numbers_and_a_checkpoint_says_what_they_did():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    world = World()
    world.register()
    rig.snapshot = take_snapshot(world.tables, KvConfigStore({}), now=at(0))
    rig.recorder.lose(7)
    assert (rig.recorder.sequencer.dropped_changes, rig.recorder.is_incomplete) == (7, True)
    run(rig)
    first = rig.taken()[0]
    assert (first["kind"], first["reason"], first["seq"]) == ("checkpoint_begin", "recovery", 4 + 7)
    (live,) = rig.snapshot.live
    heard = BrokerHeard(live.cluster_name, live.broker_addr, live.gen, 5)
    rig.recorder.record(Change(Cause.HEARTBEAT, None, (heard,)))
    rig.clock.advance(MINUTE_MS)
    rig.tick()
    assert "broker_minute" in rig.kinds(), "their brokers are counted from here on"


def test_nothing_is_lost_before_the_beginning():
    rig = Rig()
    rig.recorder.lose(7)
    rig.recorder.begin()
    assert (rig.recorder.sequencer.dropped_changes, rig.recorder.is_incomplete) == (0, False)


def test_a_drop_within_a_checkpoint_spoils_it_and_another_follows():
    rig = Rig(queue_bytes=1_000_000, checkpoint_ms=1_000)
    rig.recorder.begin()
    rig.taken()
    rig.snapshot = large_snapshot()
    rig.clock.advance(1_000)
    rig.tick()
    for _ in range(1_001):
        rig.recorder.record(kv_change())
    assert rig.recorder.sequencer.dropped_changes
    rig.taken()
    for _ in range(5):
        rig.tick(is_writable=False)
    assert rig.kinds() == []  # no more of what can't become complete
    run(rig, 10)
    records = rig.taken()
    assert [record["kind"] for record in records] == [
        "checkpoint_begin",
        *["topic_queues"] * 4,
        "checkpoint_end",
    ]
    assert records[0]["reason"] == "recovery"
    assert records[-1]["checkpoint"] == records[0]["seq"]


def test_what_the_writer_loses_is_healed_too_and_told_each_minute():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    rig.tick(lost_records=3)
    rig.clock.advance(MINUTE_MS)
    rig.tick(lost_records=3)
    records = rig.taken()
    assert records[0]["reason"] == "recovery"
    assert [record["dropped_records"] for record in records if record["kind"] == "server_alive"] == [3]


def test_retention_gets_a_checkpoint_but_not_on_and_on():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    for _ in range(3):
        rig.recorder.need_checkpoint("retention")
        run(rig, 3)
    assert rig.kinds() == ["checkpoint_begin", "checkpoint_end"]
    rig.clock.advance(RETENTION_PAUSE_MS)
    rig.recorder.need_checkpoint("retention")
    run(rig, 3)
    assert rig.kinds().count("checkpoint_begin") == 1


def test_a_folder_that_vanished_gets_a_checkpoint():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    rig.recorder.need_checkpoint("recovery")
    run(rig, 3)
    assert rig.kinds() == ["checkpoint_begin", "checkpoint_end"]


def test_a_new_beginning_forgets_the_old_one():
    rig = Rig()
    rig.recorder.begin()
    rig.recorder.record(kv_change())
    rig.taken()
    rig.clock.advance(5_000)
    rig.recorder.begin()
    records = rig.taken()
    assert [(record["seq"], record["up_ms"]) for record in records] == [(1, 0), (2, 0), (3, 0)]


def test_what_the_writer_did_is_written_down():
    rig = Rig()
    rig.recorder.begin()
    rig.taken()
    rig.recorder.note(SegmentsDeleted(segments=["a"], bytes=7, reason="size"))
    (record,) = rig.taken()
    assert (record["kind"], record["segments"], record["bytes"]) == ("segments_deleted", ["a"], 7)


@pytest.mark.parametrize("queue_bytes", [1 << 20, 8 << 20])
def test_a_checkpoint_is_never_the_reason_for_a_drop_however_small_the_queue(queue_bytes):
    rig = Rig(queue_bytes)
    rig.recorder.begin()
    rig.taken()
    rig.snapshot = large_snapshot(names=400)
    rig.recorder.sequencer.note_hole()
    written: list[Mark] = []
    for _ in range(2_000):  # the disk is slower than the loop
        rig.tick()
        rig.recorder.record(kv_change())
        for entry in filter(None, (rig.backlog.take(), rig.backlog.take())):
            rig.backlog.done(entry.weight)
            written.append(entry.mark)
    assert rig.recorder.sequencer.dropped_changes == 0
    assert [mark for mark in written if mark is not Mark.NONE] == [Mark.CHECKPOINT_BEGIN, Mark.CHECKPOINT_END]


def test_a_row_larger_than_the_queue_is_in_the_checkpoint_all_the_same():
    rig = Rig(queue_bytes=1 << 20)
    rig.recorder.begin()
    rig.taken()
    rig.snapshot = Snapshot({}, (KvChanged("ns", "k", "x" * (2 << 20)),), ())
    rig.recorder.sequencer.note_hole()
    rig.tick()
    kinds = rig.kinds()
    rig.tick()
    assert kinds + rig.kinds() == ["checkpoint_begin", "kv", "checkpoint_end"]


def test_a_judged_request_is_recorded_at_once_with_its_peer():
    rig = Rig()
    rig.recorder.access(Access(code=205, allowed=True, mode="enforce", count=1))
    rig.recorder.begin()
    rig.taken()
    record = Access(code=216, allowed=True, rule="operators", mode="enforce", user="ops", count=1)
    record.peer = "10.0.0.1:5"
    rig.recorder.access(record)
    (found,) = rig.taken()
    assert (found["kind"], found["peer"], found["user"], found["count"]) == ("access", "10.0.0.1:5", "ops", 1)
