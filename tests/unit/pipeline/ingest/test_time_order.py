"""Loads are in order of time over all name servers, with few segments looked at."""

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.pipeline.ingest.segments import Segment
from namekeeper.pipeline.ingest.time_order import EXACT_TO_MS, in_order_of_time

DAY = 86_400_000
BOOT = 1_772_323_200_000


def boot(namesrv: str, started: int, times: list[int]) -> dict[Segment, int]:
    """Segments of a boot with the time of each."""
    return {
        Segment(namesrv, "0a1b2c3d", started, at * 10 + 1, at * 10 + 10, True, 1, "j", f"{namesrv}-{at}"): ts
        for at, ts in enumerate(times)
    }


def bursts(days: int, quiet: int, busy: int) -> list[int]:
    """Times of a server with so many segments on a day, and many on each tenth."""
    times: list[int] = []
    for day in range(days):
        count = busy if day % 10 == 3 else quiet
        times += [BOOT + day * DAY + at * DAY // count for at in range(count)]
    return times


def test_no_name_server_is_ever_a_day_ahead_however_unevenly_they_write():
    times = {
        **boot("a", BOOT, bursts(40, 2, 300)),
        **boot("b", BOOT, bursts(40, 30, 31)),
        **boot("down", BOOT, bursts(7, 5, 90)),
    }
    asked: list[Segment] = []

    def first_ts(segment: Segment) -> int:
        asked.append(segment)
        return times[segment]

    ordered = in_order_of_time(list(times), first_ts)
    assert sorted(ordered) == sorted(times)
    assert 2 * EXACT_TO_MS < DAY
    latest = 0
    for segment in ordered:  # a load may end before any of them
        assert latest - times[segment] < 2 * EXACT_TO_MS
        latest = max(latest, times[segment])
    assert len(asked) < len(times) / 4


@given(st.lists(st.integers(0, 5 * DAY), min_size=1, max_size=30), st.integers(0, 40))
def test_segments_of_a_boot_keep_their_order_whatever_its_clock_shows(times, broken):
    segments = boot("a", BOOT, [BOOT + ts if at != broken else 0 for at, ts in enumerate(times)])
    assert in_order_of_time(list(segments), segments.__getitem__) == list(segments)


def test_boots_of_a_name_server_follow_each_other():
    times = {
        **boot("a", BOOT, [BOOT, BOOT + 5]),
        **boot("a", BOOT + 9, [BOOT + 9]),
        **boot("b", BOOT, [BOOT + 7]),
    }
    ordered = in_order_of_time(list(times), times.__getitem__)
    assert [times[segment] - BOOT for segment in ordered] == [0, 5, 7, 9]
