"""Plans which time ranges a run recomputes for each name server, and which days change with them.

A complete checkpoint is the whole state: records before it change nothing after it. So a range begins with
the last checkpoint that the new records can't have changed, and ends with the first checkpoint after them.
Records outside of the ranges are not read.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import gcd
from typing import NamedTuple
from zoneinfo import ZoneInfo

__all__ = [
    "BEGINNING",
    "FOREVER",
    "Day",
    "KeptRange",
    "KnownSpan",
    "NewRecords",
    "RecomputeRange",
    "Window",
    "common_unit",
    "day_at",
    "day_named",
    "days_between",
    "kept_ranges",
    "plan_ranges",
    "plan_windows",
]

FOREVER = 2**53 - 1
"""Later than every time and every position; exact in every engine."""
BEGINNING = -FOREVER

_HOUR_MS = 60 * 60 * 1_000
DAY_MS = 24 * _HOUR_MS


class KnownSpan(NamedTuple):
    """A complete checkpoint of an earlier run."""

    namesrv: str
    boot: int
    begin_seq: int
    end_seq: int
    from_ts: int
    """Effective ms."""


class RecomputeRange(NamedTuple):
    """A range of positions of one name server that is recomputed; its end is not included."""

    namesrv: str
    range_id: int
    from_boot: int
    from_position: int
    from_ts: int
    to_boot: int
    to_position: int
    to_ts: int


class KeptRange(NamedTuple):
    """A range of one name server between recompute ranges, with the checkpoint at its start."""

    namesrv: str
    from_ts: int
    to_ts: int
    from_boot: int | None
    from_seq: int | None
    to_boot: int | None
    to_seq: int | None
    """Position at which the next recompute range begins; None if there is none."""


class Day(NamedTuple):
    """A day of the report's time zone."""

    day: str
    from_ts: int
    to_ts: int


class NewRecords(NamedTuple):
    """New records of one boot, as far as planning needs them."""

    namesrv: str
    boot: int
    first_seq: int
    last_seq: int
    first_ts: int


class Window(NamedTuple):
    """Days that follow each other."""

    from_ts: int
    to_ts: int


def plan_ranges(new_records: Iterable[NewRecords], known: Iterable[KnownSpan]) -> list[RecomputeRange]:
    """The ranges that have to be recomputed because of new records; they do not touch each other.

    Args:
        new_records: One item for each boot with new records.
        known: The complete checkpoints in the warehouse.
    """
    spans_of: dict[str, list[KnownSpan]] = {}
    for span in sorted(known, key=lambda span: (span.namesrv, span.boot, span.begin_seq)):
        spans_of.setdefault(span.namesrv, []).append(span)
    found = [_range(new, spans_of.get(new.namesrv, [])) for new in sorted(new_records)]
    return [
        range_._replace(range_id=number) for number, range_ in enumerate(_joined(sorted(found, key=_from)))
    ]


def kept_ranges(ranges: Sequence[RecomputeRange]) -> list[KeptRange]:
    """The kept ranges of each name server that has a recompute range."""
    found = []
    of_server: dict[str, list[RecomputeRange]] = {}
    for range_ in ranges:
        of_server.setdefault(range_.namesrv, []).append(range_)
    for namesrv, some in of_server.items():
        first, last = some[0], some[-1]
        if first.from_ts > BEGINNING:
            found.append(
                KeptRange(namesrv, BEGINNING, first.from_ts, None, None, first.from_boot, first.from_position)
            )
        for one, other in pairwise(some):
            found.append(
                KeptRange(
                    namesrv,
                    one.to_ts,
                    other.from_ts,
                    one.to_boot,
                    one.to_position,
                    other.from_boot,
                    other.from_position,
                )
            )
        if last.to_ts < FOREVER:
            found.append(KeptRange(namesrv, last.to_ts, FOREVER, last.to_boot, last.to_position, None, None))
    return found


def plan_windows(periods: Iterable[tuple[int, int]], zone: str, *, after_ms: int) -> list[Window]:
    """The days that changes within some periods can affect; consecutive days form one window.

    Args:
        periods: (from, to) of each change, effective ms.
        zone: Time zone of days.
        after_ms: How long after its end a change can still have an effect.
    """
    windows = sorted(
        Window(day_at(start, zone).from_ts, day_at(end + after_ms, zone).to_ts) for start, end in periods
    )
    joined: list[Window] = []
    for window in windows:
        if joined and window.from_ts <= joined[-1].to_ts:
            joined[-1] = Window(joined[-1].from_ts, max(joined[-1].to_ts, window.to_ts))
        else:
            joined.append(window)
    return joined


def day_at(ms: int, zone: str) -> Day:
    """The day that an instant belongs to."""
    return day_named(datetime.fromtimestamp(ms / 1_000, ZoneInfo(zone)).date().isoformat(), zone)


def day_named(day: str, zone: str) -> Day:
    """A day by its name, as 2026-03-01."""
    local = date.fromisoformat(day)
    return Day(day, _midnight(local, zone), _midnight(local + timedelta(days=1), zone))


def days_between(window: Window, zone: str) -> list[Day]:
    """The days of a window."""
    days = []
    at = window.from_ts
    while at < window.to_ts:
        days.append(day_at(at, zone))
        at = days[-1].to_ts
    return days


def common_unit(days: Iterable[Day]) -> int:
    """Ms that divide an hour and every midnight evenly: an hour in most zones, 15 or 30 minutes in some."""
    return gcd(_HOUR_MS, *(bound for day in days for bound in (day.from_ts, day.to_ts)))


def _midnight(day: date, zone: str) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone))
    return int(start.timestamp() * 1_000)


def _range(new: NewRecords, spans: list[KnownSpan]) -> RecomputeRange:
    before = bisect_left(spans, (new.boot, new.first_seq), key=lambda span: (span.boot, span.end_seq))
    before = min(before, bisect_left(spans, new.first_ts, key=lambda span: span.from_ts))
    after = bisect_left(spans, (new.boot, new.last_seq + 1), key=lambda span: (span.boot, span.begin_seq))
    start = (-1, -1, BEGINNING)
    if before:
        first = spans[before - 1]
        start = (first.boot, first.begin_seq, first.from_ts)
    end = (FOREVER, FOREVER, FOREVER)
    if after < len(spans):
        last = spans[after]
        end = (last.boot, last.begin_seq, last.from_ts)
    return RecomputeRange(new.namesrv, 0, *start, *end)


def _from(range_: RecomputeRange) -> tuple[str, int, int]:
    return range_.namesrv, range_.from_boot, range_.from_position


def _joined(ranges: Sequence[RecomputeRange]) -> list[RecomputeRange]:
    joined: list[RecomputeRange] = []
    for range_ in ranges:
        last = joined[-1] if joined else None
        if (
            last is None
            or last.namesrv != range_.namesrv
            or _from(range_)[1:] > (last.to_boot, last.to_position)
        ):
            joined.append(range_)
            continue
        end = max(
            (last.to_boot, last.to_position, last.to_ts), (range_.to_boot, range_.to_position, range_.to_ts)
        )
        joined[-1] = last._replace(to_boot=end[0], to_position=end[1], to_ts=end[2])
    return joined
