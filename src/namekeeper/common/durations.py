"""Durations as people write and read them, in one grammar: `90s`, `1h30m`, `1 day and 2 hours`."""

import re

__all__ = ["DURATION_HELP", "LATEST_MS", "parse_duration_ms", "shown_duration"]

DURATION_HELP = "write it as 90s, 10m, 1h30m, 7d or '2 hours'"
"""The end of a message about a text that is no duration."""

_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*(?:,|and\b)?", re.IGNORECASE)
_SECONDS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")
LATEST_MS = 253_402_214_400_000
"""The last day of the year 9999, in ms since 1970: what a calendar shows in any zone. So it is the longest
distance between two times, too."""

_UNIT_MS = {
    "ms": 1, "millisecond": 1, "s": 1_000, "sec": 1_000, "second": 1_000, "m": 60_000, "min": 60_000,
    "minute": 60_000, "h": 3_600_000, "hour": 3_600_000, "d": 86_400_000, "day": 86_400_000, "w": 604_800_000,
    "week": 604_800_000,
}  # fmt: skip
_SHOWN_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))


def parse_duration_ms(text: str, *, above_zero: bool = False) -> int:
    """Read a duration, as whole ms: numbers with units that are added up, or one number, of seconds.

    Args:
        text: As in `90s`, `1h30m`, `2 hours`, `1 day and 2 hours`, `60`.
        above_zero: Whether a duration of 0 ms is refused too.

    Raises:
        ValueError: It is no duration; the message says how to write one.
    """
    seconds = _SECONDS.fullmatch(text)
    total = float(seconds[1]) * 1_000 if seconds else _sum_of_parts(text)
    if total is None or total > LATEST_MS:
        raise ValueError(f"{text!r} is no duration: {DURATION_HELP}")
    ms = round(total)
    if above_zero and ms == 0:
        raise ValueError(f"{text!r} is no duration above zero: {DURATION_HELP}")
    return ms


def shown_duration(ms: int) -> str:
    """A duration in its two largest units, as in `2 h 5 min`; below a minute with decimals, as in `3.4 s`."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1_000:g} s"
    counts: list[tuple[int, str]] = []
    for unit, size in _SHOWN_UNITS:
        count, ms = divmod(ms, size)
        if count or counts:
            counts.append((count, unit))
    return " ".join(f"{count} {unit}" for count, unit in counts[:2] if count)


def _sum_of_parts(text: str) -> float | None:
    """Milliseconds of numbers with units; None if there is anything else."""
    total, at = 0.0, 0
    while at < len(text):
        match = _PART.match(text, at)
        unit = "" if match is None else match[2].lower()
        unit_ms = _UNIT_MS.get(unit) or _UNIT_MS.get(unit.removesuffix("s"))
        if match is None or unit_ms is None:
            return None
        total += float(match[1]) * unit_ms
        at = match.end()
    return total if text.strip() else None
