"""Units of the columns of numbers, for the reference page: durations, times, counts, or identifiers."""

from namekeeper.pipeline.table import Column

__all__ = ["unit_of"]

_NUMERIC = {"bigint", "int", "double", "array<bigint>", "map<string,bigint>"}
_MS, _INSTANT, _COUNT, _NUMBER = "ms", "ms since 1970", "how many", "number"
_OWN = {
    "bytes": "bytes",
    "body_bytes": "bytes",
    "length": "characters",
    "frame_used": "0 to 1",
}
_INSTANTS = {
    "first_minute", "hour", "knows_up_to", "last_minute", "last_seen", "minute", "ts", "unknown_from",
    "unknown_to", "valid_from", "valid_to",
}  # fmt: skip
_NUMBERS = {
    "boot", "broker_id", "change", "channel", "checkpoint", "client_version", "code", "data_version", "gen",
    "load_id", "perm", "place", "port", "seq", "topic_sys_flag", "v",
}  # fmt: skip
"""Identifiers and flags: numbers that can't be added."""
_COUNTS = {
    "brokers",
    "clock_steps", "connections", "count", "counts", "dropped_changes", "dropped_records", "gaps",
    "heartbeats", "items", "longer", "lookups", "losses", "lost_records", "minutes", "name_servers",
    "outages", "read_queue_nums", "read_queues", "registrations", "samples", "sessions_ended", "topics",
    "witnesses", "writable_topics", "write_queue_nums", "write_queues",
}  # fmt: skip
_ENDINGS = {"_ms": _MS, "_ts": _INSTANT, "_at": _INSTANT, "_boot": _NUMBER, "_seq": _NUMBER}
_BEGINNINGS = {"under_": _COUNT}


def unit_of(column: Column) -> str:
    """The unit of the numbers of a column; empty for text and booleans.

    Raises:
        LookupError: A column of numbers that this module doesn't know yet.
    """
    if column.type not in _NUMERIC:
        return ""
    name = column.name
    for names, unit in ((_INSTANTS, _INSTANT), (_NUMBERS, _NUMBER), (_COUNTS, _COUNT)):
        if name in names:
            return unit
    found = [unit for ending, unit in _ENDINGS.items() if name.endswith(ending)]
    found += [unit for beginning, unit in _BEGINNINGS.items() if name.startswith(beginning)]
    if name in _OWN:
        return _OWN[name]
    if not found:
        raise LookupError(f"what do the numbers of the column {name!r} count? Say it in {__name__}")
    return found[0]
