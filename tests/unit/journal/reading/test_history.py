"""Records in the order of their seq, and what happened: whole changes, whole checkpoints, losses."""

import pytest

from namekeeper.journal.contract.record import (
    CheckpointBegin,
    CheckpointEnd,
    Envelope,
    Kv,
    ServerAlive,
    ServerStarted,
    ServerStopped,
)
from namekeeper.journal.contract.skipped import SkippedRecords
from namekeeper.journal.reading import history
from namekeeper.journal.reading.history import (
    Began,
    Changed,
    CheckpointApplied,
    Lost,
    Seen,
    StepMaker,
    Stopped,
    steps,
)


class Pen:
    """Writes records as a server would, one boot after the other."""

    def __init__(self):
        self.boot, self.seq, self.records = 1, 0, []

    def put(self, record, *, change=0, end=True, checkpoint=0):
        self.seq += 1
        record.v, record.boot, record.seq, record.ts = 1, self.boot, self.seq, self.boot * 1_000 + self.seq
        record.change, record.end, record.checkpoint = change or self.seq, end, checkpoint
        self.records.append(record)
        return self.seq

    def kv(self, value="v", **more):
        return self.put(Kv(namespace="n", key="k", value=value), **more)

    def alive(self):
        return self.put(ServerAlive())

    def stop(self):
        return self.put(ServerStopped(last_seq=self.seq + 1))

    def start(self, boot=None, **more):
        previous = {"previous_boot": self.boot, "previous_seq": self.seq} if self.records else {}
        self.boot, self.seq = boot or self.boot + 1, 0
        return self.put(ServerStarted(uuid="u", server_version="0", **{**previous, **more}))

    def begin(self):
        return self.put(CheckpointBegin(reason="interval"))

    def row(self, begin, value="v"):
        return self.kv(value, checkpoint=begin)

    def finish(self, begin, rows):
        return self.put(CheckpointEnd(counts={"kv": rows} if rows else {}), checkpoint=begin)

    def steps(self):
        return [(type(step), step.seq) for step in steps(self.records)]


@pytest.fixture
def pen():
    return Pen()


def test_each_change_is_reported_at_the_place_of_its_end(pen):
    pen.kv()
    pen.kv(end=False)
    pen.kv(change=2)
    pen.alive()
    assert pen.steps() == [(Changed, 1), (Changed, 3), (Seen, 4)]
    _, change, seen = steps(pen.records)
    assert (len(change.records), change.ts) == (2, 1_003)
    assert seen.record is pen.records[3]


def test_a_boot_begins_and_ends(pen):
    pen.start()
    pen.stop()
    pen.start()
    assert pen.steps() == [(Began, 1), (Stopped, 2), (Began, 1)]


def test_a_missing_seq_is_a_loss_after_the_last_change(pen):
    pen.kv()
    pen.seq += 1
    pen.kv()
    assert pen.steps() == [(Changed, 1), (Lost, 1), (Changed, 3)]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (1, [(Changed, 1), (Lost, 1), (Seen, 3), (Seen, 4), (Changed, 5)]),
        (2, [(Changed, 1), (Lost, 1), (Seen, 2), (Seen, 4), (Changed, 5)]),
        (3, [(Changed, 1), (Lost, 1), (Seen, 2), (Seen, 3), (Changed, 5)]),
    ],
)
def test_a_change_that_lost_a_record_is_applied_by_nobody(pen, missing, expected):
    pen.kv()
    pen.kv(end=False)
    pen.kv(change=2, end=False)
    pen.kv(change=2)
    pen.kv()
    del pen.records[missing]
    assert pen.steps() == expected


def test_a_change_without_its_end_is_a_loss_also_when_no_seq_is_missing(pen):
    pen.kv()
    pen.kv(end=False)
    pen.kv()
    assert pen.steps() == [(Changed, 1), (Lost, 1), (Seen, 2), (Changed, 3)]


def test_the_last_change_may_still_be_under_way(pen):
    pen.kv()
    pen.kv(end=False)
    assert pen.steps() == [(Changed, 1)]


def test_a_boot_that_did_not_stop_lost_something_if_another_follows(pen):
    pen.start()
    pen.kv()
    assert pen.steps() == [(Began, 1), (Changed, 2)]
    pen.kv(end=False)
    pen.start()
    assert pen.steps() == [(Began, 1), (Changed, 2), (Lost, 2), (Seen, 3), (Began, 1)]


@pytest.mark.parametrize(
    ("previous_seq", "alive_ts", "expected"),
    [(2, 9_000, 9_000), (2, 2_001, 2_002), (2, 0, 2_002), (3, 9_000, 2_002), (1, 9_000, 2_002)],
)
def test_a_crashed_boot_is_known_until_it_was_last_alive(pen, previous_seq, alive_ts, expected):
    """If its last record is there, and not before this record."""
    pen.start()
    pen.kv()
    pen.start(previous_seq=previous_seq, previous_alive_ts=alive_ts)
    (lost,) = (step for step in steps(pen.records) if isinstance(step, Lost))
    assert (lost.seq, lost.ts) == (2, expected)


def test_an_earlier_boot_than_the_one_before_does_not_say_until_when_it_ran(pen):
    pen.start()
    pen.kv()
    pen.start(boot=7, previous_boot=5, previous_seq=2, previous_alive_ts=9_000)
    (lost,) = (step for step in steps(pen.records) if isinstance(step, Lost))
    assert lost.ts == 2_002


def test_a_boot_of_which_nothing_is_there_is_lost(pen):
    pen.start()
    pen.stop()
    pen.start(boot=7, previous_boot=5, previous_seq=9)
    assert pen.steps() == [(Began, 1), (Stopped, 2), (Lost, 2), (Began, 1)]


def test_a_boot_without_its_beginning_is_lost_to_there(pen):
    pen.start()
    pen.stop()
    pen.start()
    pen.kv()
    del pen.records[2]
    assert pen.steps() == [(Began, 1), (Stopped, 2), (Lost, 2), (Changed, 2)]


def test_what_is_before_the_oldest_record_is_no_loss(pen):
    pen.seq = 10
    pen.kv(change=9)
    pen.kv()
    assert pen.steps() == [(Seen, 11), (Changed, 12)]


def test_what_comes_twice_counts_once(pen):
    pen.kv()
    pen.kv()
    pen.records += [*pen.records, *pen.records[:1]]
    pen.kv()
    assert pen.steps() == [(Changed, 1), (Changed, 2), (Changed, 3)]


def test_a_checkpoint_counts_at_the_place_of_its_begin(pen):
    begin = pen.begin()
    pen.kv("between")
    pen.row(begin, "row")
    pen.alive()
    assert pen.steps() == [(Seen, 1), (Changed, 2), (Seen, 4)]
    pen.finish(begin, 1)
    pen.kv("after")
    assert pen.steps() == [(CheckpointApplied, 1), (Changed, 2), (Seen, 4), (Changed, 6)]
    whole = next(steps(pen.records))
    assert (whole.ts, whole.state.kv) == (1_001, {"n": {"k": "row"}})


@pytest.mark.parametrize("counted", [0, 2])
def test_a_checkpoint_with_another_count_does_not_count(pen, counted):
    begin = pen.begin()
    pen.row(begin)
    pen.finish(begin, counted)
    pen.kv()
    assert pen.steps() == [(Seen, 1), (Changed, 4)]


def test_a_checkpoint_with_a_hole_does_not_count(pen):
    begin = pen.begin()
    pen.row(begin)
    pen.alive()
    pen.finish(begin, 1)
    del pen.records[2]
    assert pen.steps() == [(Seen, 1), (Lost, 1)]


def test_a_checkpoint_that_another_overtakes_does_not_count(pen):
    first = pen.begin()
    second = pen.begin()
    pen.row(first)
    pen.finish(first, 1)
    pen.finish(second, 0)
    assert pen.steps() == [(Seen, 1), (CheckpointApplied, 2)]


def test_a_checkpoint_does_not_reach_into_another_boot(pen):
    begin = pen.begin()
    pen.row(begin)
    pen.start()
    pen.finish(begin, 1)
    assert pen.steps() == [(Seen, 1), (Lost, 1), (Began, 1)]


def test_rows_of_a_checkpoint_are_not_the_last_change_before_a_loss(pen):
    begin = pen.begin()
    pen.row(begin)
    pen.seq += 1
    pen.alive()
    assert pen.steps() == [(Seen, 1), (Lost, 1), (Seen, 4)]


def test_a_row_that_was_not_read_whole_still_counts(pen):
    begin = pen.begin()
    pen.row(begin)
    pen.finish(begin, 1)
    row = pen.records[1]
    members = ("kind", "v", "namesrv", "boot", "seq", "change", "end", "ts", "up_ms", "checkpoint")
    pen.records[1] = Envelope(**{name: getattr(row, name) for name in members})
    (whole,) = steps(pen.records)
    assert isinstance(whole, CheckpointApplied)
    assert whole.state.kv == {}


def test_a_change_that_never_ends_counts_as_lost(monkeypatch):
    monkeypatch.setattr(history, "CHANGE_RECORDS_LIMIT", 3)
    pen = Pen()
    pen.start()
    first = pen.kv(end=False)
    for _ in range(9):
        pen.kv(change=first, end=False)
    pen.kv("after")
    kinds = [type(step) for step in steps(pen.records)]
    assert Lost in kinds
    assert (kinds[0], kinds[-1]) == (Began, Changed)


def test_a_checkpoint_whose_end_does_not_come_keeps_a_limited_number_of_records_waiting(monkeypatch, pen):
    monkeypatch.setattr(history, "LATER_RECORDS_LIMIT", 3)
    begin = pen.begin()
    pen.row(begin)
    for _ in range(5):
        pen.kv()
    maker = history.StepMaker()
    found = [len(maker.take(record)) for record in pen.records]
    assert found == [0, 0, 0, 0, 0, 5, 1]  # the begin and four changes, then each change by itself
    pen.finish(begin, 1)
    assert maker.take(pen.records[-1]) == []


def skipped(first: int, last: int) -> SkippedRecords:
    """Changes of one record each, of the first boot."""
    ends = [
        Envelope(kind="kv", v=1, namesrv="n", boot=1, seq=seq, change=seq, end=True, ts=1_000 + seq, up_ms=0)
        for seq in (first, last)
    ]
    return SkippedRecords(*ends)


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        (4, 6, [(Seen, 4), (Seen, 6)]),
        (4, 4, [(Seen, 4)]),
        (5, 6, [(Lost, 3), (Seen, 5), (Seen, 6)]),
        (2, 3, []),
        (2, 5, [(Seen, 5)]),
    ],
)
def test_skipped_records_follow_the_last_one(pen, first, last, wanted):
    pen.start(boot=1)
    pen.kv(), pen.kv()
    maker = StepMaker()
    for record in pen.records:
        maker.take(record)
    assert [(type(step), step.seq) for step in maker.follow(skipped(first, last))] == wanted


def test_a_partial_change_is_lost_if_skipped_records_go_on_after_it(pen):
    pen.start(boot=1)
    pen.kv()
    pen.kv(end=False)
    maker = StepMaker()
    for record in pen.records:
        maker.take(record)
    found = [(type(step), step.seq) for step in maker.follow(skipped(2, 5))]
    assert found == [(Lost, 2), (Seen, 3), (Seen, 5)]
