"""Times of records are in order unless the wall clock made a step, which is recorded."""

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.journal.recording.timeline import STEP_MS, ChangeTime, Timeline
from namekeeper.model.now import Now

BEGIN = Now(1_700_000_000_000, 5_000)


def after(wall_ms: int, mono_ms: int) -> Now:
    return Now(BEGIN.wall_ms + wall_ms, BEGIN.mono_ms + mono_ms)


def test_time_that_passes_evenly_is_no_step():
    instant = Timeline(BEGIN).at(after(60_000, 60_000))
    assert (instant.ts, instant.up_ms, instant.step_ms) == (BEGIN.wall_ms + 60_000, 60_000, 0)


def test_a_small_step_back_is_held_until_the_clock_has_caught_up():
    timeline = Timeline(BEGIN)
    timeline.at(after(5_000, 5_000))
    assert timeline.at(after(4_500, 5_100)).ts == BEGIN.wall_ms + 5_000
    assert timeline.at(after(4_900, 5_500)).ts == BEGIN.wall_ms + 5_000
    assert timeline.at(after(5_600, 6_200)).ts == BEGIN.wall_ms + 5_600


def test_a_step_of_a_second_is_followed_and_recorded():
    timeline = Timeline(BEGIN)
    back = timeline.at(after(-900, 100))
    assert (back.ts, back.step_ms) == (BEGIN.wall_ms - 900, -1_000)
    forward = timeline.at(after(3_600_000, 200))
    assert (forward.ts, forward.step_ms) == (BEGIN.wall_ms + 3_600_000, 3_600_800)
    assert timeline.at(after(3_600_100, 300)).step_ms == 0


def test_small_steps_back_that_add_up_are_followed_and_recorded():
    timeline = Timeline(BEGIN)
    assert timeline.at(after(-600, 0)).step_ms == 0
    assert timeline.at(after(-1_200, 0)) == ChangeTime(BEGIN.wall_ms - 1_200, 0, -1_200)


@given(st.lists(st.tuples(st.integers(-10_000, 10_000), st.integers(0, 100_000)), max_size=30))
def test_without_steps_times_never_go_back_and_are_never_a_second_ahead(moves):
    timeline, wall, mono, last = Timeline(BEGIN), BEGIN.wall_ms, BEGIN.mono_ms, BEGIN.wall_ms
    for extra, passed in moves:
        wall, mono = wall + passed + extra, mono + passed
        instant = timeline.at(Now(wall, mono))
        assert instant.up_ms == mono - BEGIN.mono_ms
        if abs(extra) >= STEP_MS:
            assert instant.step_ms == extra
        assert instant.ts == wall if instant.step_ms else instant.ts >= last
        assert 0 <= instant.ts - wall < STEP_MS
        last = instant.ts
