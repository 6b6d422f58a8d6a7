"""Which part of the past is computed again when records come."""

from datetime import UTC, datetime

import pytest

from namekeeper.pipeline.gold.plan import (
    BEGINNING,
    DAY_MS,
    FOREVER,
    Day,
    KeptRange,
    KnownSpan,
    NewRecords,
    RecomputeRange,
    Window,
    common_unit,
    day_at,
    days_between,
    kept_ranges,
    plan_ranges,
    plan_windows,
)

SPANS = [
    KnownSpan("a", 100, 2, 5, 1_000),
    KnownSpan("a", 100, 50, 60, 2_000),
    KnownSpan("a", 200, 2, 5, 3_000),
    KnownSpan("b", 150, 2, 5, 1_500),
]


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)


def ranges_of(*new_records: tuple[str, int, int, int, int]) -> list[RecomputeRange]:
    return plan_ranges([NewRecords(*each) for each in new_records], SPANS)


def test_of_a_name_server_of_which_nothing_is_known_all_is_computed():
    assert ranges_of(("c", 100, 1, 9, 10)) == [
        RecomputeRange("c", 0, -1, -1, BEGINNING, FOREVER, FOREVER, FOREVER)
    ]


def test_a_range_begins_at_the_last_checkpoint_that_was_complete_before_the_new_records():
    (found,) = ranges_of(("a", 200, 6, 9, 3_500))
    assert found[2:] == (200, 2, 3_000, FOREVER, FOREVER, FOREVER)
    (found,) = ranges_of(("a", 200, 4, 9, 3_500))
    assert found[2:5] == (100, 50, 2_000), "the end of that checkpoint is among the new records"


def test_a_range_ends_at_the_first_checkpoint_after_the_new_records():
    (found,) = ranges_of(("a", 100, 20, 30, 1_200))
    assert found[2:] == (100, 2, 1_000, 100, 50, 2_000)
    (found,) = ranges_of(("a", 100, 61, 70, 2_500))
    assert found[2:] == (100, 50, 2_000, 200, 2, 3_000)


def test_a_clock_that_was_set_back_moves_the_begin_back():
    """Records of an earlier time make everything before them earlier; a checkpoint of the same ms is too late."""
    (found,) = ranges_of(("a", 200, 6, 9, 1_800))
    assert found[2:5] == (100, 2, 1_000)
    (found,) = ranges_of(("a", 200, 6, 9, 1_000))
    assert found[2:5] == (-1, -1, BEGINNING)


def test_ranges_that_touch_are_one_and_others_stay_apart():
    apart = ranges_of(("a", 200, 6, 9, 3_500), ("b", 150, 6, 9, 1_600), ("a", 100, 20, 30, 1_200))
    assert [(each.namesrv, each.range_id, each.from_ts, each.to_ts) for each in apart] == [
        ("a", 0, 1_000, 2_000), ("a", 1, 3_000, FOREVER), ("b", 2, 1_500, FOREVER),
    ]  # fmt: skip
    touching = ranges_of(("a", 100, 20, 30, 1_200), ("a", 100, 61, 70, 2_500))
    assert [(each.from_ts, each.to_ts) for each in touching] == [(1_000, 3_000)]


def test_a_kept_range_begins_with_the_checkpoint_at_the_end_of_a_range():
    ranges = ranges_of(("a", 100, 20, 30, 1_200), ("a", 200, 6, 9, 3_500))
    assert kept_ranges(ranges) == [
        KeptRange("a", BEGINNING, 1_000, None, None, 100, 2),
        KeptRange("a", 2_000, 3_000, 100, 50, 200, 2),
    ]
    assert kept_ranges(ranges_of(("c", 1, 1, 1, 1))) == []
    (last,) = [each for each in kept_ranges(ranges[:1]) if each.to_ts == FOREVER]
    assert last == KeptRange("a", 2_000, FOREVER, 100, 50, None, None)


def test_days_are_those_of_the_zone():
    at = ms("2026-03-28T23:30")
    assert day_at(at, "UTC") == Day("2026-03-28", ms("2026-03-28T00:00"), ms("2026-03-29T00:00"))
    berlin = day_at(at, "Europe/Berlin")
    assert berlin == Day("2026-03-29", ms("2026-03-28T23:00"), ms("2026-03-29T22:00"))
    assert berlin.to_ts - berlin.from_ts == 23 * 3_600_000, "the clocks go forward on this day"


def test_windows_are_whole_days_joined_where_they_touch():
    first, second = ms("2026-03-01T12:00"), ms("2026-03-02T01:00")
    windows = plan_windows([(second, second), (first, first)], "UTC", after_ms=0)
    assert windows == [Window(ms("2026-03-01T00:00"), ms("2026-03-03T00:00"))]
    assert [day.day for day in days_between(windows[0], "UTC")] == ["2026-03-01", "2026-03-02"]
    assert (
        len(plan_windows([(first, first), (first + 9 * DAY_MS, first + 9 * DAY_MS)], "UTC", after_ms=0)) == 2
    )
    assert (
        len(
            plan_windows(
                [(first, first), (first + 9 * DAY_MS, first + 9 * DAY_MS)], "UTC", after_ms=9 * DAY_MS
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    ("zone", "minutes"), [("UTC", 60), ("America/New_York", 60), ("Asia/Kolkata", 30), ("Asia/Kathmandu", 15)]
)
def test_hours_are_cut_where_a_day_of_a_zone_begins(zone: str, minutes: int):
    march = Window(ms("2026-03-06T12:00"), ms("2026-03-20T12:00"))
    days = days_between(march, zone)
    assert common_unit(days) == minutes * 60_000
    assert all(day.from_ts % common_unit(days) == 0 for day in days)


def test_without_a_day_the_unit_is_an_hour():
    assert common_unit([]) == 3_600_000
