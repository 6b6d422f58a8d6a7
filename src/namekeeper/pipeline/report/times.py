"""Times, shares and counts as people read them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from namekeeper.common.durations import shown_duration

__all__ = ["shown_count", "shown_milliseconds", "shown_share", "shown_time"]


def shown_time(ms: int | None, zone: str) -> str:
    """An instant in a zone, with its distance from UTC, or Z; nothing for none."""
    if ms is None:
        return ""
    text = datetime.fromtimestamp(ms / 1_000, ZoneInfo(zone)).isoformat(sep=" ", timespec="seconds")
    return text.replace("+00:00", "Z")


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


def shown_count(count: int, noun: str) -> str:
    """How many of what; the noun is one that takes an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
