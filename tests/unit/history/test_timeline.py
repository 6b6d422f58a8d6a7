"""When the state of a name server was known, unknown or stopped."""

from namekeeper.history.rows import Rows, What
from namekeeper.history.timeline import PeriodState, StateTimeline, TimelinePeriod
from namekeeper.journal.contract.record import ServerStarted
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Began, CheckpointApplied, Lost, Seen, Step, Stopped

STARTED = ServerStarted(uuid="u", server_version="0")
OBSERVED = ServerStarted(uuid="u", server_version="0", observed_addr="a:1")


def timeline_of(*steps: Step) -> StateTimeline:
    coverage = Coverage()
    timeline = StateTimeline(coverage)
    for number, step in enumerate(steps, 1):
        coverage.take(step)
        timeline.take(step, number)
    return timeline


def marks(timeline: StateTimeline) -> list[tuple[int, int, What]]:
    return [(mark.number, mark.at, mark.what) for mark in timeline.marks()]


def checkpoint(boot: int, seq: int, ts: int) -> Step:
    return CheckpointApplied(boot, seq, ts, Rows())


def test_nothing_is_known_before_the_first_complete_checkpoint():
    assert timeline_of().periods(at_checkpoints=True) == []
    assert (
        timeline_of(Began(1, 1, 10, STARTED), Lost(1, 2, 20), Seen(1, 5, 30, None)).periods(
            at_checkpoints=True
        )
        == []
    )


def test_a_stop_lasts_until_the_first_checkpoint_of_the_next_boot():
    found = timeline_of(
        Began(1, 1, 10, STARTED),
        checkpoint(1, 2, 11),
        Stopped(1, 9, 20),
        Began(2, 1, 30, STARTED),
        checkpoint(2, 2, 31),
    )
    assert found.periods(at_checkpoints=True) == [
        TimelinePeriod(11, 20, PeriodState.UP, 1),
        TimelinePeriod(20, 31, PeriodState.STOPPED),
        TimelinePeriod(31, None, PeriodState.UP, 2),
    ]
    assert marks(found) == [(2, 11, "corrected"), (3, 20, "stopped"), (5, 31, "corrected")]


def test_a_name_server_is_up_from_its_start_on_unless_its_state_was_unknown():
    start = Began(2, 1, 30, STARTED)
    assert timeline_of(checkpoint(1, 2, 11), Stopped(1, 9, 20), start, checkpoint(2, 2, 31)).periods() == [
        TimelinePeriod(11, 20, PeriodState.UP, 1),
        TimelinePeriod(20, 30, PeriodState.STOPPED),
        TimelinePeriod(30, None, PeriodState.UP, 2),
    ]
    assert timeline_of(checkpoint(1, 2, 11), Lost(1, 9, 20), start, checkpoint(2, 2, 31)).periods() == [
        TimelinePeriod(11, 20, PeriodState.UP, 1),
        TimelinePeriod(20, 31, PeriodState.UNKNOWN, is_crash=True),
        TimelinePeriod(31, None, PeriodState.UP, 2),
    ]


def test_what_was_before_a_time_is_left_out():
    found = timeline_of(checkpoint(1, 2, 11), Stopped(1, 9, 20), Began(2, 1, 30, STARTED))
    assert found.periods(20) == [
        TimelinePeriod(20, 30, PeriodState.STOPPED), TimelinePeriod(30, None, PeriodState.UP, 2),
    ]  # fmt: skip
    assert found.periods(25)[0] == TimelinePeriod(25, 30, PeriodState.STOPPED)


def test_a_loss_of_no_time_is_no_mark():
    found = timeline_of(checkpoint(1, 2, 11), Lost(1, 9, 20), checkpoint(1, 12, 20), Lost(1, 15, 25))
    assert marks(found) == [(1, 11, "corrected"), (4, 25, "lost")]
    assert found.periods()[0] == TimelinePeriod(11, 25, PeriodState.UP, 1)


def test_a_boot_that_ends_without_a_stop_is_a_crash():
    found = timeline_of(checkpoint(1, 2, 11), Lost(1, 9, 20), Began(2, 1, 30, STARTED), checkpoint(2, 2, 31))
    assert found.periods(at_checkpoints=True)[1] == TimelinePeriod(20, 31, PeriodState.UNKNOWN, is_crash=True)


def test_lost_records_of_a_boot_that_goes_on_are_no_crash():
    found = timeline_of(
        checkpoint(1, 2, 11),
        Lost(1, 9, 20),
        checkpoint(1, 30, 40),
        Stopped(1, 50, 60),
        Began(2, 1, 70, STARTED),
    )
    assert [(each.state, each.is_crash) for each in found.periods(at_checkpoints=True)] == [
        (PeriodState.UP, False), (PeriodState.UNKNOWN, False), (PeriodState.UP, False), (PeriodState.STOPPED, False),
    ]  # fmt: skip


def test_the_end_of_an_observation_is_no_crash():
    found = timeline_of(
        Began(1, 1, 10, OBSERVED),
        checkpoint(1, 2, 11),
        Lost(1, 9, 20),
        Began(2, 1, 30, OBSERVED),
        checkpoint(2, 2, 31),
    )
    assert [each.is_crash for each in found.periods(at_checkpoints=True)] == [False, False, False]


def test_an_unknown_state_stays_unknown_when_the_name_server_stops():
    found = timeline_of(checkpoint(1, 2, 11), Lost(1, 9, 20), Stopped(1, 15, 25), Began(2, 1, 30, STARTED))
    assert found.periods(at_checkpoints=True)[1:] == [TimelinePeriod(20, None, PeriodState.UNKNOWN)]


def test_a_clock_that_runs_backwards_makes_no_period_of_less_than_no_time():
    found = timeline_of(
        checkpoint(1, 2, 100), Stopped(1, 9, 200), Began(2, 1, 50, STARTED), checkpoint(2, 2, 60)
    )
    assert found.periods(at_checkpoints=True) == [
        TimelinePeriod(50, 60, PeriodState.STOPPED),
        TimelinePeriod(60, None, PeriodState.UP, 2),
    ]


def test_a_boot_of_which_only_a_loss_was_read_did_not_start_with_it():
    found = timeline_of(checkpoint(1, 2, 11), Stopped(1, 9, 20), Lost(2, 5, 30), checkpoint(2, 9, 40))
    assert found.periods() == [
        TimelinePeriod(11, 20, PeriodState.UP, 1),
        TimelinePeriod(20, 30, PeriodState.STOPPED),
        TimelinePeriod(30, 40, PeriodState.UNKNOWN),
        TimelinePeriod(40, None, PeriodState.UP, 2),
    ]
