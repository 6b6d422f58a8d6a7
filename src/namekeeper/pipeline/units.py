"""Units of columns, for the reference page and readable views: durations, times, counts, identifiers, days.

A column that is made of a member of records has its unit, which the contract states.
"""

from namekeeper.pipeline.contract import UNITS
from namekeeper.pipeline.table import Column

__all__ = ["DAY", "INSTANT", "unit_of"]

_NUMERIC = {"bigint", "int", "double", "array<bigint>", "map<string,bigint>"}
_MS, _COUNT, _NUMBER = "ms", "how many", "number"
INSTANT = "ms since 1970"
DAY = "day"
"""Unit of a text such as 2026-03-01, or open."""
_OWN = {
    "up_share": "0 to 1",
    "length": "characters",
    "frame_used": "0 to 1",
}
_INSTANTS = {
    "first_minute", "knows_up_to", "last_minute", "unknown_from", "unknown_to", "valid_from", "valid_to",
}  # fmt: skip
_DAYS = {"day", "valid_to_day"}
_NUMBERS = {
    "load_id", "place",
}  # fmt: skip
"""Identifiers and flags: numbers that can't be added."""
_COUNTS = {
    "brokers", "clock_steps", "heartbeats", "items", "longer", "lookups", "losses", "lost_records",
    "minutes", "name_servers", "outages", "read_queues", "samples", "sessions_ended", "topics", "witnesses",
    "writable_topics", "write_queues",
}  # fmt: skip
_ENDINGS = {"_ms": _MS, "_ts": INSTANT, "_at": INSTANT, "_boot": _NUMBER, "_seq": _NUMBER}
_BEGINNINGS = {"under_": _COUNT}


def unit_of(column: Column) -> str:
    """The unit of a column; empty for booleans and text other than days.

    Raises:
        LookupError: A column of numbers that this module doesn't know yet.
    """
    name = column.name
    if column.type not in _NUMERIC:
        return DAY if column.type == "string" and name in _DAYS else ""
    if name in UNITS:
        return UNITS[name]
    for names, unit in ((_INSTANTS, INSTANT), (_NUMBERS, _NUMBER), (_COUNTS, _COUNT)):
        if name in names:
            return unit
    found = [unit for ending, unit in _ENDINGS.items() if name.endswith(ending)]
    found += [unit for beginning, unit in _BEGINNINGS.items() if name.startswith(beginning)]
    if name in _OWN:
        return _OWN[name]
    if not found:
        raise LookupError(f"what do the numbers of the column {name!r} count? Say it in {__name__}")
    return found[0]
