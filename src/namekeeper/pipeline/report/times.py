"""Times, durations, shares and counts as people read them."""

from datetime import datetime
from zoneinfo import ZoneInfo

__all__ = ["shown_count", "shown_duration", "shown_share", "shown_time"]

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))


def shown_time(ms: int | None, zone: str) -> str:
    """An instant in a zone, with its distance from UTC, or Z; nothing for none."""
    if ms is None:
        return ""
    text = datetime.fromtimestamp(ms / 1_000, ZoneInfo(zone)).isoformat(sep=" ", timespec="seconds")
    return text.replace("+00:00", "Z")


def shown_duration(ms: int | None) -> str:
    """A duration in its two largest units; nothing for none."""
    if ms is None:
        return ""
    parts: list[tuple[int, str]] = []
    for unit, size in _UNITS:
        count, ms = divmod(ms, size)
        if count or parts:
            parts.append((count, unit))
        if len(parts) == 2:
            break
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0"


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
