"""The time that a report is about."""

import pytest

from namekeeper.pipeline.report.period import Period, offset_of, period_of, slice_within
from tests.support.pipeline.report_rows import HOUR, START

DAY = 24 * HOUR


def test_it_is_the_time_of_which_something_is_known():
    assert period_of([START + HOUR, START, START + 5]) == (START, START + HOUR)
    assert period_of([]) is None


def test_days_cut_it_at_midnights_of_their_zone():
    known = [START, START + 3 * DAY]
    assert period_of(known, ("2026-03-02", "2026-03-02"), "UTC") == (START + DAY, START + 2 * DAY)
    assert period_of(known, ("2026-03-02", None), "Europe/Berlin") == (START + DAY - HOUR, START + 3 * DAY)
    assert period_of(known, (None, "2026-02-28"), "America/New_York") == (START, START + 5 * HOUR)


def test_of_days_before_and_after_nothing_is_known():
    for day in ("2026-02-27", "2026-03-05"):
        assert period_of([START, START + HOUR], (day, day)) is None


def test_a_period_is_never_without_length():
    assert Period(START, START).duration_ms == 1


@pytest.mark.parametrize(
    ("duration", "most", "least", "wanted"),
    [
        (DAY, 24, 0, HOUR),
        (DAY, 23, 0, 2 * HOUR),
        (40_000, 96, 0, 500),
        (40_000, 72, HOUR, HOUR),
        (1, 8, 0, 10),
    ],
)
def test_a_slice_is_the_shortest_that_people_count_in(duration: int, most: int, least: int, wanted: int):
    assert slice_within(Period(START, START + duration), most, least) == wanted


def test_a_zone_is_ahead_of_utc_or_behind():
    assert [offset_of(START, zone) for zone in ("UTC", "Asia/Kolkata", "America/New_York")] == [
        0, 5.5 * HOUR, -5 * HOUR,
    ]  # fmt: skip
