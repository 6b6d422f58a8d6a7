"""What a journal knows of which time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.journal.contract.record import ServerAlive, ServerStarted
from namekeeper.journal.reading.coverage import Boot, Coverage, EffectiveTimes, Knowledge, TimeRange
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Stopped
from namekeeper.journal.reading.state import State
from tests.support.system.counted import Counted

STARTED = ServerStarted(uuid="u", server_version="0")


class CoverageHistory:
    """Steps at instants."""

    def __init__(self):
        self.coverage, self.boot, self.seq = Coverage(), 1, 0

    def __call__(self, kind, ts, *more):
        if kind is Began:
            self.boot += 1
        self.seq += 1
        self.coverage.take(kind(self.boot, self.seq, ts, *more))
        return self

    def begins(self, ts):
        return self(Began, ts, STARTED)

    def checkpoint(self, ts):
        return self(CheckpointApplied, ts, State())

    def alive(self, ts):
        return self(Seen, ts, ServerAlive())


@pytest.fixture
def history():
    return CoverageHistory()


def test_nothing_is_known_without_records(history):
    coverage = history.coverage
    assert (coverage.knows_from, coverage.knows_up_to, coverage.boots, coverage.unknown) == (
        None,
        None,
        [],
        [],
    )
    assert coverage.at(5) is Knowledge.NOT_YET


def test_it_knows_from_the_first_whole_checkpoint_to_the_last_record(history):
    coverage = history.begins(10).checkpoint(20).alive(30).coverage
    assert (coverage.knows_from, coverage.knows_up_to) == (20, 30)
    found = [coverage.at(ms) for ms in (5, 19, 20, 30, 31)]
    assert found == [Knowledge.BEFORE, Knowledge.BEFORE, Knowledge.KNOWN, Knowledge.KNOWN, Knowledge.NOT_YET]


def test_a_loss_is_unknown_until_the_next_whole_checkpoint(history):
    history.begins(10).checkpoint(20).alive(30)(Lost, 30).alive(40)
    assert history.coverage.unknown == [TimeRange(30, None)]
    assert history.coverage.at(40) is Knowledge.UNKNOWN
    history(Lost, 40).checkpoint(50).alive(60)
    assert history.coverage.unknown == [TimeRange(30, 50)]
    assert [history.coverage.at(ms) for ms in (29, 30, 49, 50)] == [
        Knowledge.KNOWN, Knowledge.UNKNOWN, Knowledge.UNKNOWN, Knowledge.KNOWN,
    ]  # fmt: skip


def test_each_loss_has_its_own_range(history):
    history.begins(10).checkpoint(20)(Lost, 20).checkpoint(30).alive(40)(Lost, 40).checkpoint(50)
    assert history.coverage.unknown == [TimeRange(20, 30), TimeRange(40, 50)]


def test_what_a_checkpoint_made_known_for_no_time_was_not_known(history):
    history.begins(10).checkpoint(20)(Lost, 30).checkpoint(40)(Lost, 40).checkpoint(40)(Lost, 40)
    assert history.coverage.unknown == [TimeRange(30)]
    assert history.checkpoint(50).alive(60).coverage.unknown == [TimeRange(30, 50)]
    assert history(Lost, 60).checkpoint(70).coverage.unknown == [TimeRange(30, 50), TimeRange(60, 70)]


def test_a_loss_right_before_a_checkpoint_is_none(history):
    assert history.begins(10).checkpoint(20)(Lost, 20).checkpoint(20).coverage.unknown == []


def test_a_loss_before_anything_is_known_is_none(history):
    assert history.begins(10)(Lost, 10).checkpoint(20).coverage.unknown == []


def test_between_a_stop_and_a_start_it_is_stopped(history):
    history.begins(10).checkpoint(11)(Stopped, 20).begins(30).checkpoint(31).alive(40)
    coverage = history.coverage
    assert coverage.boots == [Boot(2, 10, 20, True), Boot(3, 30, None, False)]
    found = [coverage.at(ms) for ms in (19, 20, 29, 30)]
    assert found == [Knowledge.KNOWN, Knowledge.STOPPED, Knowledge.STOPPED, Knowledge.KNOWN]
    assert coverage.boot_at(19).boot == 2
    assert coverage.boot_at(25) is None
    assert coverage.boot_at(99).boot == 3


def test_a_boot_that_did_not_stop_lasts_until_the_next(history):
    history.begins(10).checkpoint(11).alive(20)(Lost, 20).begins(30)
    assert history.coverage.boots == [Boot(2, 10, 30, False), Boot(3, 30, None, False)]


def test_a_clock_that_runs_back_hides_what_it_passes_again(history):
    history.begins(100).checkpoint(110)(Changed, 200, []).alive(150)
    history(Lost, 150).checkpoint(120).alive(130)
    coverage = history.coverage
    assert (coverage.knows_from, coverage.knows_up_to) == (110, 130)
    assert coverage.unknown == []  # it was from 120 to 120
    history.alive(90)
    assert (coverage.knows_from, coverage.knows_up_to, coverage.boots[0].since) == (90, 90, 90)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30))
def test_an_instant_is_the_minimum_of_its_time_and_of_all_later_ones(seen):
    time, kept = EffectiveTimes(), []
    for position, (ts, is_kept) in enumerate(seen):
        time.note(ts)
        if is_kept:
            kept.append((position, time.at(ts)))
    for position, instant in kept:
        assert instant.ms == min(ts for ts, _ in seen[position:])


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30), st.integers(0, 20))
def test_what_may_be_forgotten_changes_no_later_time(seen, until):
    time, kept = EffectiveTimes(), []
    for position, (ts, is_kept) in enumerate(seen):
        time.note(ts)
        if is_kept:
            kept.append((position, time.at(ts)))
        if position == len(seen) // 2:
            time.forget(until, but=20)
    for position, instant in kept:
        right = min(ts for ts, _ in seen[position:])
        assert instant.ms == right or right < until


STEPS = (
    lambda history, ts: history(Changed, ts, []),
    lambda history, ts: history.checkpoint(ts),
    lambda history, ts: history(Lost, ts),
    lambda history, ts: history(Stopped, ts).begins(ts),
)


@pytest.mark.parametrize("moves", ["back", "on", "on and back"])
@pytest.mark.parametrize("steps", [STEPS, (*STEPS[1:3], STEPS[0])])
def test_the_time_to_follow_a_clock_and_to_ask_grows_with_the_steps(moves, steps):
    """A clock that went back at each record took time by the square of the records."""

    def comparisons(count):
        history = CoverageHistory().begins(Counted(10**9)).checkpoint(Counted(10**9))
        before = Counted.comparisons
        for number in range(count):
            ts = {"back": 10**9 - number, "on": 10**9 + number}.get(
                moves, 10**9 + (number % 2) * number - number
            )
            for step in steps:
                step(history, Counted(ts))
        assert history.coverage.last_unknown == (history.coverage.unknown or [None])[-1]
        for boot in history.coverage.boots:
            history.coverage.at(boot.since)
        return Counted.comparisons - before

    assert comparisons(800) < 3 * comparisons(400)
