"""The oldest go first, by size and by age; what a replay begins with stays, and a wrong clock deletes nothing."""

import pytest

from namekeeper.journal.disk.retention import AgePause, Plan, Sealed, plan_deletion
from namekeeper.journal.settings import DAY_MS, Limits

LIMITS = Limits(max_bytes=100, max_age_ms=1_000)
FIRST, SECOND, THIRD = (Sealed((1, number), f"s{number}", 40) for number in (1, 5, 9))


def plan(*segments, open_bytes=0, allowed=None, ages=None, checkpoint=(1, 9)):
    return plan_deletion(
        segments, open_bytes=open_bytes, limits=LIMITS, oldest_allowed_ts=allowed,
        newest_ts=lambda segment: (ages or {}).get(segment.file, 10_000), checkpoint=checkpoint,
    )  # fmt: skip


def test_nothing_goes_while_there_is_room():
    assert plan() == Plan()
    assert plan(FIRST, SECOND, open_bytes=20) == Plan()


def test_the_oldest_goes_when_there_is_none():
    assert plan(FIRST, SECOND, THIRD) == Plan(FIRST, "size")
    assert plan(FIRST, SECOND, open_bytes=21) == Plan(FIRST, "size")


def test_age_counts_from_the_newest_record():
    assert plan(FIRST, SECOND, allowed=500, ages={"s1": 499}) == Plan(FIRST, "age")
    assert plan(FIRST, SECOND, allowed=500, ages={"s1": 500}) == Plan()
    assert plan(FIRST, SECOND, allowed=None, ages={"s1": 0}) == Plan()


@pytest.mark.parametrize("checkpoint", [None, (1, 1), (0, 7)])
def test_what_the_newest_checkpoint_needs_stays_until_there_is_another(checkpoint):
    assert plan(FIRST, SECOND, THIRD, checkpoint=checkpoint) == Plan(needs_checkpoint=True)
    assert plan(FIRST, SECOND, checkpoint=checkpoint) == Plan()


def test_a_large_step_of_the_clock_pauses_age_for_a_day():
    pause = AgePause()
    assert pause.is_over(0)
    pause.note_step(60_000, 5_000)
    assert pause.is_over(5_000)
    for step in (DAY_MS * 365, -DAY_MS):
        pause.note_step(step, 5_000)
        assert not pause.is_over(5_000 + DAY_MS - 1)
        assert pause.is_over(5_000 + DAY_MS)


@pytest.mark.parametrize(
    ("newest", "wall_ms", "is_over"),
    [
        (0, 5 * DAY_MS, True), (5 * DAY_MS, 6 * DAY_MS, True), (5 * DAY_MS, 6 * DAY_MS + 1, False),
        (50 * DAY_MS, DAY_MS, False),
    ],
)  # fmt: skip
def test_so_does_a_start_long_after_or_before_the_newest_record(newest, wall_ms, is_over):
    pause = AgePause()
    pause.note_start(newest_ts=newest, wall_ms=wall_ms, mono_ms=7)
    assert pause.is_over(7) == is_over
