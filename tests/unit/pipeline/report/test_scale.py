"""The axis of time."""

from itertools import pairwise, product

import pytest

from namekeeper.pipeline.report.period import Period
from namekeeper.pipeline.report.scale import TimeScale
from tests.support.pipeline.report_rows import HOUR, START

DAY = 24 * HOUR


def scale(first: int, last: int, zone: str = "UTC") -> TimeScale:
    return TimeScale(Period(START + first, START + last), zone)


def test_an_instant_is_where_its_share_of_the_period_is():
    one = scale(0, 4 * HOUR)
    assert [one.at(START + ms) for ms in (-HOUR, 0, HOUR, 4 * HOUR, 5 * HOUR)] == [0, 0, 25, 100, 100]
    assert one.width(START - HOUR, START + HOUR) == 25


@pytest.mark.parametrize(
    ("first", "last", "zone", "times"),
    [
        (100, 60_000, "UTC", ["00:00:10", "00:00:20", "00:00:30", "00:00:40", "00:00:50", "00:01:00"]),
        (0, 300, "UTC", ["00:00:00.000", "00:00:00.050", "00:00:00.100", "00:00:00.150", "00:00:00.200",
                         "00:00:00.250", "00:00:00.300"]),
        (0, 26 * HOUR, "UTC", ["00:00", "06:00", "12:00", "18:00", "00:00"]),
        (0, 3 * HOUR, "Asia/Kolkata", ["05:30", "06:00", "06:30", "07:00", "07:30", "08:00", "08:30"]),
    ],
)  # fmt: skip
def test_ticks_are_at_round_local_times(first: int, last: int, zone: str, times: list[str]):
    assert [tick.time for tick in scale(first, last, zone).ticks()] == times


def test_the_day_is_said_where_it_changes():
    ticks = scale(0, 26 * HOUR).ticks()
    assert [tick.day for tick in ticks] == ["1 Mar 2026", "", "", "", "2 Mar 2026"]
    assert [(tick.time, tick.day) for tick in scale(0, 5 * DAY).ticks()][1:3] == [
        ("", "2 Mar 2026"), ("", "3 Mar 2026"),
    ]  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_there_are_few_ticks_in_their_order(zone: str):
    durations = (1, 10, 777, 40_000, 9 * 60_000, HOUR, 7 * HOUR, DAY, 9 * DAY, 400 * DAY)
    for duration, month in product(durations, (0, 28 * DAY + HOUR // 7, 200 * DAY)):
        at = [tick.at for tick in scale(month, month + duration, zone).ticks()]
        assert len(at) <= 10, (duration, month)
        assert all(0 <= one < other <= 100 for one, other in pairwise(at)), (duration, month)


def test_where_clocks_are_changed_ticks_stay_at_round_times():
    ticks = scale(28 * DAY - 2 * HOUR, 28 * DAY + 6 * HOUR, "Europe/Berlin").ticks()
    assert [tick.time for tick in ticks if tick.time[-2:] != "00"] == []
