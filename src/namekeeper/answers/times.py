"""Reads times, ISO 8601 or `2 hours ago`, and shows them in the reader's zone and in UTC."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from namekeeper.common.durations import parse_duration_ms
from namekeeper.errors import ConfigError

__all__ = ["LATEST_MS", "Zone", "instant_of", "shown", "zone_of"]

Zone = tzinfo | None
"""None is the zone of the system."""

_AGO = re.compile(r"(.*[a-z].*?)\s+ago", re.IGNORECASE)
"""A number without a unit is refused here: `3 ago` is not clear."""
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")
LATEST_MS = 253_402_214_400_000
"""The last day of the year 9999: what `datetime` can show in any zone."""

_HELP = "write it as 2026-01-31T03:12:00Z, '2026-01-31 03:12', 03:12, now or '2 hours ago'"


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
        text: ISO 8601, with an offset or in `zone`; a time of day, which means the last one; or how long ago.
        now_ms: The present, wall ms.
        zone: The zone of a time without an offset.

    Raises:
        ConfigError: it is not a time, or the clocks in this zone skipped it or had it twice.
    """
    text = text.strip()
    if text.lower() == "now":
        return now_ms
    if match := _AGO.fullmatch(text):
        try:
            return max(0, now_ms - parse_duration_ms(match[1]))
        except ValueError as error:
            raise ConfigError(str(error)) from None
    if match := _CLOCK.fullmatch(text):
        return _last_time_of_day(match, text, now_ms, zone)
    try:
        parsed = datetime.fromisoformat(text)
        ms = _to_ms(parsed if parsed.tzinfo is not None else _in_zone(parsed, text, zone))
    except (ValueError, OverflowError):
        raise ConfigError(f"{text!r} is not a time: {_HELP}") from None
    if not 0 <= ms <= LATEST_MS:
        raise ConfigError(f"{text!r} is before 1970 or after 9999")
    return ms


def shown(ms: int, zone: Zone) -> str:
    """A time in the reader's zone and in UTC: `2026-01-31 04:12:00.250 CET (03:12:00.250Z)`."""
    utc = datetime.fromtimestamp(ms / 1_000, UTC)
    local = utc.astimezone(zone)
    same_day = local.date() == utc.date()
    if local.utcoffset() == timedelta(0):
        return f"{utc:%Y-%m-%d} {_clock(utc)} UTC"
    in_utc = _clock(utc) if same_day else f"{utc:%Y-%m-%d} {_clock(utc)}"
    return f"{local:%Y-%m-%d} {_clock(local)} {_zone_name(local)} ({in_utc}Z)"


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


def _last_time_of_day(match: re.Match[str], text: str, now_ms: int, zone: Zone) -> int:
    today = datetime.fromtimestamp(now_ms / 1_000, UTC).astimezone(zone).replace(tzinfo=None)
    try:
        time = today.replace(
            hour=int(match[1]), minute=int(match[2]), second=int(match[3] or 0), microsecond=0
        )
    except ValueError:
        raise ConfigError(f"{text!r} is not a time: {_HELP}") from None
    ms = _to_ms(_in_zone(time, text, zone))
    return ms if ms <= now_ms else _to_ms(_in_zone(time - timedelta(days=1), text, zone))
