"""Times, shares and counts as people read them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from namekeeper.common.durations import shown_duration

__all__ = [
    "needs_milliseconds",
    "shown_count",
    "shown_local",
    "shown_milliseconds",
    "shown_number",
    "shown_share",
    "shown_time",
]


def shown_time(ms: int | None, zone: str) -> str:
    """An instant in a zone, with its distance from UTC, or Z; nothing for none."""
    return "" if ms is None else _shown(ms, zone, "seconds").replace("+00:00", "Z")


def shown_local(ms: int | None, zone: str, *, with_milliseconds: bool = False) -> str:
    """An instant in a zone that the reader knows; nothing for none."""
    if ms is None:
        return ""
    text = _shown(ms, zone, "milliseconds" if with_milliseconds else "seconds")
    return text[: len("2026-03-01 00:00:00.000") if with_milliseconds else len("2026-03-01 00:00:00")]


def needs_milliseconds(times: list[int]) -> bool:
    """Whether two different instants are in the same second, so that their order needs milliseconds."""
    different = set(times)
    return len({ms // 1_000 for ms in different}) < len(different)


def shown_milliseconds(ms: int | None) -> str:
    """A duration in a cell of a table: nothing for None, and 0 without a unit."""
    if ms is None:
        return ""
    return shown_duration(ms) if ms else "0"


def shown_share(share: float | None) -> str:
    """A share in percent, never rounded up to the whole; nothing for none."""
    if share is None:
        return ""
    percent = share * 100
    text = f"{percent:.3f}"
    return f"{'99.999' if text == '100.000' and share < 1 else text} %"


def shown_number(number: int) -> str:
    """A whole number with its thousands separated."""
    return f"{number:,}"


def shown_count(count: int, noun: str) -> str:
    """How many of what; the noun is one that takes an s."""
    return f"{shown_number(count)} {noun}" if count == 1 else f"{shown_number(count)} {noun}s"


def _shown(ms: int, zone: str, timespec: str) -> str:
    return datetime.fromtimestamp(ms / 1_000, ZoneInfo(zone)).isoformat(sep=" ", timespec=timespec)
