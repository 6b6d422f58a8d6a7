"""Reads times, ISO 8601 or `2 hours ago`, and shows them in the reader's zone and in UTC."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from namekeeper.common.durations import LATEST_MS, parse_duration_ms
from namekeeper.errors import ConfigError

__all__ = [
    "LONGEST_TEXT",
    "Zone",
    "instant_of",
    "iso_text",
    "shown",
    "shown_period",
    "shown_start",
    "shown_window",
    "zone_of",
]

Zone = tzinfo | None
"""None is the zone of the system."""

_AGO = re.compile(r"(.*[a-z].*?)\s+ago", re.IGNORECASE)
"""A number without a unit is refused here: `3 ago` is not clear."""
_RELATIVE = re.compile(r"-?\s*(\d.*[a-z].*)", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,3}))?)?(Z)?", re.IGNORECASE)
_DAY_AND_CLOCK = re.compile(r"(today|yesterday)(?:\s+at)?\s+(\S+)", re.IGNORECASE)
_EPOCH_MS = re.compile(r"\d{12,13}")
_EPOCH_SECONDS = re.compile(r"(\d{10})(?:\.(\d{1,3})\d*)?")
"""As metrics have it; so few ms would be a time in 1970."""
_SHOWN = re.compile(
    r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?:,|\s+)"
    r"([A-Za-z]*)([+-]\d{1,2}(?::?\d{2})?)?"
    r"(?:\s*\((?:(\d{4}-\d{2}-\d{2}) )?(\d{2}:\d{2}:\d{2}(?:\.\d+)?)Z\))?"
)
"""As `shown`, the page and the log write a time: with a name or an offset of its zone, and perhaps in UTC."""
_UTC_NAMES = ("", "UTC", "GMT", "Z")
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")
LONGEST_TEXT = 200
"""Characters; no form needs as many. The search for a form in a long text takes quadratic time."""

_HELP = (
    "write it as 2026-01-31T03:12:00Z, '2026-01-31 03:12', 03:12, 'yesterday 03:12', now, 10m"
    " or '2 hours ago'"
)


def zone_of(name: str | None) -> Zone:
    """The time zone of a name such as Europe/Berlin, or of an offset such as +02:00.

    Raises:
        ConfigError: there is no such zone.
    """
    if name is None:
        return None
    if name.upper() in {"UTC", "Z"}:
        return UTC
    match = _OFFSET.fullmatch(name)
    if match and int(match[2]) < 24 and int(match[3]) < 60:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(
            f"there is no time zone {name!r}: use a name such as Europe/Berlin, UTC, or +02:00"
        ) from None


def instant_of(text: str, *, now_ms: int, zone: Zone) -> int:
    """Read a time, as wall ms.

    Args:
        text: ISO 8601, with an offset or in `zone`; as `shown` or a log writes it; ms or seconds since 1970;
            a time of day, which means the last one, or that of today or yesterday; or how long ago.
        now_ms: The present, wall ms.
        zone: The zone of a time without an offset.

    Raises:
        ConfigError: it is not a time, or the clocks in this zone skipped it or had it twice.
    """
    text = text.strip()
    if text.lower() == "now":
        return now_ms
    try:
        ms = _read(text, now_ms, zone)
    except (ValueError, OverflowError):
        raise ConfigError(f"{text!r} is not a time: {_HELP}") from None
    if not 0 <= ms <= LATEST_MS:
        raise ConfigError(f"{text!r} is before 1970 or after 9999")
    return ms


def shown(ms: int, zone: Zone) -> str:
    """A time in the reader's zone and in UTC: `2026-01-31 04:12:00.250 CET (03:12:00.250Z)`.

    A time that no calendar has, as another program may send it, is shown as ms.
    """
    if not 0 <= ms <= LATEST_MS:
        return f"{ms} ms since 1970"
    utc = datetime.fromtimestamp(ms / 1_000, UTC)
    local = utc.astimezone(zone)
    same_day = local.date() == utc.date()
    if local.utcoffset() == timedelta(0):
        return f"{utc:%Y-%m-%d} {_clock(utc)} UTC"
    in_utc = _clock(utc) if same_day else f"{utc:%Y-%m-%d} {_clock(utc)}"
    return f"{local:%Y-%m-%d} {_clock(local)} {_zone_name(local)} ({in_utc}Z)"


def iso_text(ms: int) -> str:
    """A time in UTC as ISO 8601: `2026-01-31T03:12:00.250Z`."""
    return shown(ms, UTC).removesuffix(" UTC").replace(" ", "T") + "Z"


def shown_window(ms: int, window_ms: int, zone: Zone) -> str:
    """The time of a change; of one that an observer recorded, the times between which it happened."""
    if not window_ms:
        return shown(ms, zone)
    return f"between {shown(ms - window_ms, zone)} and {shown(ms, zone)}"


def shown_start(ms: int, window_ms: int, zone: Zone) -> str:
    """The start of something that lasts: `since A`, or `began between A and B` if an observer recorded it."""
    return f"{'began' if window_ms else 'since'} {shown_window(ms, window_ms, zone)}"


def shown_period(start: tuple[int, int], end: tuple[int, int], zone: Zone) -> str:
    """A period, as `A to B`; with a window, as `between A and B, over at C` or `A, over between B and C`.

    Args:
        start: wall ms, and the window of the start in ms; 0: it is exact.
        end: the same of the end.
        zone: the reader's.
    """
    begun, over = shown_window(*start, zone), shown_window(*end, zone)
    if end[1]:
        return f"{begun}, over {over}"
    return f"{begun}, over at {over}" if start[1] else f"{begun} to {over}"


def _read(text: str, now_ms: int, zone: Zone) -> int:
    if len(text) > LONGEST_TEXT:
        raise ValueError("no time is that long")
    for pattern, read in _FORMS:
        if match := pattern.fullmatch(text):
            ms = read(match, now_ms, zone)
            if ms is not None:
                return ms
    parsed = datetime.fromisoformat(text)
    return _to_ms(parsed if parsed.tzinfo is not None else _in_zone(parsed, text, zone))


def _clock(time: datetime) -> str:
    return f"{time:%H:%M:%S}.{time.microsecond // 1_000:03}"


def _zone_name(time: datetime) -> str:
    name = time.tzname() or ""
    return name if name.isalpha() else f"{time:%z}"


def _to_ms(time: datetime) -> int:
    return round((time - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))


def _attach(naive: datetime, zone: Zone) -> datetime:
    return naive.astimezone() if zone is None else naive.replace(tzinfo=zone)


def _in_zone(naive: datetime, text: str, zone: Zone) -> datetime:
    first, second = (_attach(naive.replace(fold=fold), zone) for fold in (0, 1))
    back = first.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    if back != naive:
        raise ConfigError(f"{text!r} does not exist: clocks were put forward over it")
    if first.utcoffset() != second.utcoffset():
        raise ConfigError(
            f"{text!r} happened twice, as clocks were put back: write {first.isoformat()} or"
            f" {second.isoformat()}"
        )
    return first


def _ago(match: re.Match[str], now_ms: int, _zone: Zone) -> int:
    try:
        return max(0, now_ms - parse_duration_ms(match[1]))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _relative(match: re.Match[str], now_ms: int, _zone: Zone) -> int | None:
    """`10m` and `-10m`; what has letters and is no duration may be another form."""
    try:
        return max(0, now_ms - parse_duration_ms(match[1]))
    except ValueError:
        return None


def _epoch(match: re.Match[str], _now_ms: int, _zone: Zone) -> int:
    return int(match[0])


def _epoch_seconds(match: re.Match[str], _now_ms: int, _zone: Zone) -> int:
    return int(match[1]) * 1_000 + int((match[2] or "0").ljust(3, "0"))


def _as_shown(match: re.Match[str], _now_ms: int, zone: Zone) -> int | None:
    """A time that was copied from what we print."""
    day, clock, name, offset, utc_day, utc_clock = match.groups()
    if utc_clock:
        return _to_ms(datetime.fromisoformat(f"{utc_day or day}T{utc_clock}+00:00"))
    naive = datetime.fromisoformat(f"{day}T{clock}")
    if name.upper() in _UTC_NAMES:
        return _to_ms(naive.replace(tzinfo=_offset_of(offset)))
    for fold in (0, 1):  # the name tells which of two times in the night when clocks are put back
        time = _attach(naive.replace(fold=fold), zone)
        if not offset and _zone_name(time) == name:
            return _to_ms(time)
    raise ConfigError(f"{match[0]!r}: {name} is not the time zone here; write the offset, as in +01:00")


def _offset_of(text: str | None) -> tzinfo:
    """The zone of an offset such as +8, +08 or +08:00; UTC if there is none."""
    digits = (text or "+0")[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if text and text.startswith("-") else offset)


def _last_time_of_day(match: re.Match[str], now_ms: int, zone: Zone) -> int:
    ms = _time_of_day(match, now_ms, zone, days=0)
    return ms if ms <= now_ms else _time_of_day(match, now_ms, zone, days=1)


def _time_of_named_day(match: re.Match[str], now_ms: int, zone: Zone) -> int | None:
    clock = _CLOCK.fullmatch(match[2])
    return clock and _time_of_day(clock, now_ms, zone, days=int(match[1].lower() == "yesterday"))


def _time_of_day(match: re.Match[str], now_ms: int, zone: Zone, *, days: int) -> int:
    """A time of day, some days before the present one."""
    where = UTC if match[5] else zone
    today = datetime.fromtimestamp(now_ms / 1_000, UTC).astimezone(where).replace(tzinfo=None)
    time = today.replace(
        hour=int(match[1]), minute=int(match[2]), second=int(match[3] or 0),
        microsecond=int((match[4] or "0").ljust(3, "0")) * 1_000,
    )  # fmt: skip
    return _to_ms(_in_zone(time - timedelta(days=days), match[0], where))


_FORMS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], int, Zone], int | None]]] = (
    (_AGO, _ago),
    (_CLOCK, _last_time_of_day),
    (_DAY_AND_CLOCK, _time_of_named_day),
    (_EPOCH_MS, _epoch),
    (_EPOCH_SECONDS, _epoch_seconds),
    (_RELATIVE, _relative),
    (_SHOWN, _as_shown),
)
"""Forms besides ISO 8601, in this order; a reader returns None for what only looks like its form."""
