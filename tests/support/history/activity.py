"""What was counted, added up in plain loops: heartbeats and vain look-ups by the day, and what brokers had."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.support.history.histories import Record
from tests.support.history.oracle import complete_changes
from tests.support.history.sums import DAY, UpPeriod, day_of

__all__ = ["capacity_of", "heartbeats_of", "vain_lookups_of"]

GAPS = ("under_1s", "under_5s", "under_10s", "under_20s", "under_35s", "under_65s", "under_125s", "longer")

Rows = dict[Any, dict[str, Any]]
"""By key."""


def heartbeats_of(records: Iterable[Record]) -> Rows:
    """(day, name server, boot, generation) -> what heartbeat_gap_daily says; days are those of UTC."""
    found: Rows = {}
    minutes: dict[Any, set[int]] = defaultdict(set)
    for record in _complete(records, "broker_minute"):
        key = day_of(record["minute"]), record["namesrv"], record["boot"], record["gen"]
        names = ("cluster", "broker_name", "broker_id", "broker_addr")
        row = found.setdefault(key, {**{name: record[name] for name in names}, **dict.fromkeys(GAPS, 0)})
        minutes[key].add(record["minute"])
        row["minutes"] = len(minutes[key])
        row["heartbeats"] = row.get("heartbeats", 0) + record["count"]
        row["registrations"] = row.get("registrations", 0) + record["registrations"]
        for name in ("max_gap_ms", "last_seen", "body_bytes"):
            row[name] = max(row.get(name, 0), record[name])
        for name, count in zip(GAPS, record["gaps"], strict=True):
            row[name] += count
    return found


def vain_lookups_of(records: Iterable[Record]) -> Rows:
    """(day, name server, topic, language, version) -> what unknown_topic_daily says."""
    found: Rows = {}
    for record in _complete(records, "unknown_topic_minute"):
        asked = record["topic"], record["language"], record["client_version"]
        minute = record["minute"]
        row = found.setdefault(
            (day_of(minute), record["namesrv"], *asked), {"lookups": 0, "first_minute": minute}
        )
        row["lookups"] += record["count"]
        row["first_minute"] = min(row["first_minute"], minute)
        row["last_minute"] = max(row.get("last_minute", 0), minute)
    return found


def capacity_of(periods: Iterable[UpPeriod], heartbeats: Rows, namesrv: str) -> Rows:
    """(day, name server, broker name) -> what capacity_daily says of a name server.

    Args:
        periods: When it was up and known, with what it held; in order.
        heartbeats: See above; of this name server and perhaps others.
        namesrv: The name server.
    """
    bodies: Rows = defaultdict(dict)
    for (day, name, *_), row in heartbeats.items():
        if name == namesrv:
            bodies[day][row["broker_name"]] = max(row["body_bytes"], bodies[day].get(row["broker_name"], 0))
    last = {day: (at, state) for start, end, step in periods for day, at, state in _days(start, end, step)}
    return {
        (day, namesrv, name): {"cluster": group[0], "at_ts": at, **_sums(state, name), "body_bytes": bodies[day].get(name)}
        for day, (at, state) in last.items()
        for (name,), group in state["group"].items()
    }  # fmt: skip


def _days(start: int, end: int, step: Any) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """The last instant of each day of a period."""
    while start < end:
        until = min(end, (start // DAY + 1) * DAY)
        yield day_of(start), until - 1, step.state
        start = until


def _sums(state: Mapping[str, Any], broker_name: str) -> dict[str, int]:
    rows = [row for (name, _), row in state["topic"].items() if name == broker_name]
    has_master = any((name, broker_id) == (broker_name, 0) for name, broker_id, *_ in state["live"].values())
    return {
        "topics": len(rows),
        "read_queues": sum(row[0] for row in rows),
        "write_queues": sum(row[1] for row in rows),
        "writable_topics": sum(bool(row[2] & 2 and row[1]) and has_master for row in rows),
    }


def _complete(records: Iterable[Record], kind: str) -> list[Record]:
    return [record for record in complete_changes(records) if record["kind"] == kind]
