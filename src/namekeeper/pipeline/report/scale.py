"""The time axis that all plots of a report share: positions of instants, and ticks."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from namekeeper.pipeline.report.period import Period, slice_within

__all__ = ["Tick", "TimeScale"]

_TICKS = 8
"""Most ticks."""
_DAY_MS, _MINUTE_MS, _SECOND_MS = 86_400_000, 60_000, 1_000


class Tick(NamedTuple):
    """A mark on the axis."""

    at: float
    """Position in percent of the axis."""
    time: str
    """Time of day; empty if the ticks are days."""
    day: str
    """The day, if it differs from that of the tick before."""


class TimeScale:
    """From instants to positions in percent."""

    def __init__(self, period: Period, zone: str) -> None:
        self.period = period
        self.zone = zone

    def at(self, ms: int) -> float:
        """The position of an instant; one outside of the period is at the nearest end of the axis."""
        share = (ms - self.period.first_ms) / self.period.duration_ms
        return round(min(max(share, 0), 1) * 100, 3)

    def width(self, first_ms: int, last_ms: int) -> float:
        """The width of the time between two instants."""
        return round(self.at(last_ms) - self.at(first_ms), 3)

    def ticks(self) -> list[Tick]:
        """Ticks at round local times; for fewer ticks, leave out every other one."""
        step = slice_within(self.period, _TICKS)
        ticks: list[Tick] = []
        day_before = ""
        for ms in _round_times(self.period, step, ZoneInfo(self.zone)):
            local = _local(ms, self.zone)
            day = f"{local.day} {local:%b %Y}"
            ticks.append(Tick(self.at(ms), _time_of_day(local, step), "" if day == day_before else day))
            day_before = day
        return ticks


def _round_times(period: Period, step: int, zone: ZoneInfo) -> Sequence[int]:
    """Instants within a period at multiples of a step from a midnight of the zone."""
    first = datetime.fromtimestamp(period.first_ms / 1_000, zone).replace(tzinfo=None)
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    begin = (first - midnight) // timedelta(milliseconds=step)
    found = [
        _ms(midnight + timedelta(milliseconds=number * step), zone)
        for number in range(begin, begin + _TICKS + 3)
    ]
    return sorted({ms for ms in found if period.first_ms <= ms <= period.last_ms})


def _ms(local: datetime, zone: ZoneInfo) -> int:
    return round(local.replace(tzinfo=zone).astimezone(UTC).timestamp() * 1_000)


def _local(ms: int, zone: str) -> datetime:
    return datetime.fromtimestamp(ms / 1_000, ZoneInfo(zone))


def _time_of_day(local: datetime, step: int) -> str:
    if step >= _DAY_MS:
        return ""
    if step >= _MINUTE_MS:
        return f"{local:%H:%M}"
    return f"{local:%H:%M:%S}" if step >= _SECOND_MS else f"{local:%H:%M:%S}.{local.microsecond // 1_000:03}"
