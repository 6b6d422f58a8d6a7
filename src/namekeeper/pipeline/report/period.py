"""The time that a report is about, and slices of it."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

__all__ = ["STEPS", "Period", "offset_of", "period_of", "slice_within"]

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000

STEPS: Sequence[int] = (
    10, 50, 100, 500,
    *(count * _SECOND for count in (1, 2, 5, 10, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 7, 14, 28, 91, 364, 3_640)),
)  # fmt: skip
"""Lengths of slices in ms, as people count time."""


class Period(NamedTuple):
    """From one instant to another, both in ms since 1970."""

    first_ms: int
    last_ms: int

    @property
    def duration_ms(self) -> int:
        """How long it is, at least 1 ms."""
        return max(self.last_ms - self.first_ms, 1)


def period_of(
    times: Iterable[int], days: tuple[str | None, str | None] = (None, None), zone: str = "UTC"
) -> Period | None:
    """The time between the first and the last of some instants, limited to some days.

    Args:
        times: Instants of which something is known.
        days: The first and the last day, as 2026-03-01; None: all days.
        zone: Time zone of the days.

    Returns:
        None if nothing is known of the days.
    """
    found = sorted(times)
    if not found:
        return None
    first, last = (None if day is None else datetime.fromisoformat(day) for day in days)
    begin = found[0] if first is None else _midnight(first, zone)
    end = found[-1] if last is None else _midnight(last + timedelta(days=1), zone)
    known = Period(max(begin, found[0]), min(end, found[-1]))
    return known if known.first_ms <= known.last_ms else None


def slice_within(period: Period, most: int, least_ms: int = 0) -> int:
    """The shortest length of slices with which a period has at most this many slices."""
    return next((step for step in STEPS if step >= least_ms and period.duration_ms <= most * step), STEPS[-1])


def offset_of(ms: int, zone: str) -> int:
    """The offset in ms of a zone from UTC at an instant."""
    offset = datetime.fromtimestamp(ms / 1_000, ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return round(offset.total_seconds() * 1_000)


def _midnight(day: datetime, zone: str) -> int:
    return round(day.replace(tzinfo=ZoneInfo(zone)).timestamp() * 1_000)
