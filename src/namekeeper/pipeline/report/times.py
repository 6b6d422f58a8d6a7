"""Times, shares and counts as text for people."""

from datetime import datetime
from zoneinfo import ZoneInfo

from namekeeper.common.durations import shown_duration

__all__ = [
    "needs_milliseconds",
    "shown_local",
    "shown_milliseconds",
    "shown_share",
    "shown_time",
]


def shown_time(ms: int | None, zone: str) -> str:
    """An instant in a zone, with its offset from UTC, or Z; empty for None."""
    return "" if ms is None else _shown(ms, zone, "seconds").replace("+00:00", "Z")


def shown_local(ms: int | None, zone: str, *, with_milliseconds: bool = False) -> str:
    """An instant in a zone without its offset; empty for None."""
    if ms is None:
        return ""
    text = _shown(ms, zone, "milliseconds" if with_milliseconds else "seconds")
    return text[: len("2026-03-01 00:00:00.000") if with_milliseconds else len("2026-03-01 00:00:00")]


def needs_milliseconds(times: list[int]) -> bool:
    """Whether two different instants are within one second, so that only milliseconds show their order."""
    different = set(times)
    return len({ms // 1_000 for ms in different}) < len(different)


def shown_milliseconds(ms: int | None) -> str:
    """A duration in a cell of a table: empty for None, and 0 without a unit."""
    if ms is None:
        return ""
    return shown_duration(ms) if ms else "0"


def shown_share(share: float | None) -> str:
    """A share in percent, never rounded up to 100; empty for None."""
    if share is None:
        return ""
    percent = share * 100
    text = f"{percent:.3f}"
    return f"{'99.999' if text == '100.000' and share < 1 else text} %"


def _shown(ms: int, zone: str, timespec: str) -> str:
    return datetime.fromtimestamp(ms / 1_000, ZoneInfo(zone)).isoformat(sep=" ", timespec=timespec)
