"""Merges changes of several name servers into one timeline: what several recorded is one entry."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from namekeeper.answers.phrases import caused_by
from namekeeper.answers.row_changes import HistoryEvent, RowChange, Values, What
from namekeeper.answers.times import Zone, shown
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable
from namekeeper.model.perm import format_perm
from namekeeper.processor.route_answers import ORDER_TOPIC_CONFIG

__all__ = ["TimelineEntry", "entry_value", "timeline", "timeline_json", "timeline_lines"]

SAME_MS = 10_000
"""Equal changes at several name servers within this time are one: scans for dead brokers differ by 5 s."""
ROWS_SHOWN = 3
"""Rows of a kind in the text of a change."""
_VALUE_LIMIT = 100
"""Characters of a value that are shown: an order configuration may name hundreds of brokers."""


class TimelineEntry(Struct):
    """A change, and when each name server recorded it."""

    at: int
    event: HistoryEvent
    seen: dict[str, int]
    """Id of the name server -> wall ms."""


def timeline(events: Iterable[HistoryEvent]) -> list[TimelineEntry]:
    """Merge the events of all name servers, in the order of time."""
    entries: list[TimelineEntry] = []
    newest: dict[object, TimelineEntry] = {}
    for event in sorted(events, key=lambda each: each.at):
        content = _content(event)
        entry = newest.get(content)
        if (
            entry is None
            or event.what is not What.CHANGE
            or event.namesrv in entry.seen
            or event.at - entry.at > SAME_MS
        ):
            entry = newest[content] = TimelineEntry(event.at, event, {})
            entries.append(entry)
        entry.seen[event.namesrv] = event.at
    return entries


def timeline_lines(
    entries: Iterable[TimelineEntry], zone: Zone, rows_shown: int | None = ROWS_SHOWN
) -> Iterator[str]:
    """One line for each entry.

    Args:
        entries: in their order.
        zone: in which times are shown.
        rows_shown: most rows of a kind that a line has; None: all.
    """
    for entry in entries:
        yield printable(f"{shown(entry.at, zone)}  {_sentence(entry.event, rows_shown)}  [{_seen(entry)}]")


def timeline_json(entries: Iterable[TimelineEntry]) -> str:
    """A list of the entries, with every row before and after."""
    return msgspec.json.format(
        msgspec.json.encode([entry_value(entry) for entry in entries]), indent=2
    ).decode()


def entry_value(entry: TimelineEntry, rows: Sequence[RowChange] | None = None) -> dict[str, Any]:
    """An entry as plain values.

    Args:
        entry: its text is about all its rows.
        rows: the rows that are given before and after; None: all.
    """
    event = entry.event
    return {
        "at": entry.at,
        "seen": entry.seen,
        "what": event.what,
        "cause": event.cause or None,
        "peer": event.peer or None,
        "closed_by": event.closed_by or None,
        "text": _sentence(event),
        "rows": [
            {"kind": row.key[0], "key": row.key[1:], "before": row.before, "after": row.after}
            for row in (event.rows if rows is None else rows)
        ],
    }


def _content(event: HistoryEvent) -> object:
    """The part of an event that is equal at all name servers: without the peer's port and the generation."""
    rows = tuple((row.key, _comparable(row, row.before), _comparable(row, row.after)) for row in event.rows)
    return event.what, event.cause, event.peer.rpartition(":")[0], tuple(sorted(rows, key=repr))


def _comparable(row: RowChange, values: Values | None) -> Values | None:
    return values[:-1] if values is not None and row.key[0] == "live" else values


def _seen(entry: TimelineEntry) -> str:
    parts = []
    for namesrv, at in entry.seen.items():
        later = at - entry.at
        parts.append(f"{namesrv} +{later:,} ms" if later else namesrv)
    return ", ".join(parts)


def _sentence(event: HistoryEvent, rows_shown: int | None = ROWS_SHOWN) -> str:
    if event.what is What.STARTED:
        return "the name server started: it knows what it restored, and who has registered since"
    if event.what is What.STOPPED:
        return "the name server stopped"
    if event.what is What.LOST:
        return "records are lost from here on, until a checkpoint"
    why = f" ({caused_by(event.cause, event.peer, event.closed_by)})" if event.cause else ""
    if event.what is What.CORRECTED:
        why = " (found by a checkpoint: the change itself was lost)"
    came = "is back" if event.cause == "restored" else "registered"
    return "; ".join(_texts(event.rows, came, rows_shown)) + why


def _texts(rows: Sequence[RowChange], came: str, rows_shown: int | None) -> Iterator[str]:
    """A text for each of the first rows of a kind.

    Args:
        rows: The rows of one event.
        came: What a broker did that was not there before.
        rows_shown: How many rows of a kind; None: all.
    """
    addrs = {row.key[2] for row in rows if row.key[0] == "live"}
    others = [row for row in rows if not (row.key[0] == "group" and _is_explained_by(row, addrs))]
    for kind in ("live", "topic", "group", "mapping", "filter", "kv", "config"):
        of_kind = [row for row in others if row.key[0] == kind]
        text = partial(_live, came=came) if kind == "live" else _TEXTS[kind]
        yield from map(text, of_kind[:rows_shown])
        if more := len(of_kind[rows_shown:]) if rows_shown is not None else 0:
            yield shown_count(more, f"more {kind} row")


def _live(row: RowChange, came: str) -> str:
    values = row.after or row.before or ()
    who = f"broker {values[0]} (id {values[1]}) at {row.key[2]}"
    if row.after is None:
        return f"{who} is gone"
    if row.before is None:
        return f"{who} {came}"
    if row.before[-1] != row.after[-1]:
        return f"{who} registered again"
    return f"{who} has another data version or HA address"


def _is_explained_by(group: RowChange, addrs: set[str]) -> bool:
    """Whether a group changed by nothing but members that came or went, and have entries themselves."""
    before, after = group.before, group.after
    if before is not None and after is not None and before[:3] != after[:3]:
        return False
    changed = {*_addrs(before)} ^ {*_addrs(after)}
    return bool(changed) and {str(addr) for _, addr in changed} <= addrs


def _addrs(group: Values | None) -> Sequence[tuple[int, str]]:
    if group is None:
        return ()
    members = group[3]
    assert isinstance(members, tuple)
    return members


def _group(row: RowChange) -> str:
    name = f"group {row.key[1]}"
    if row.after is None:
        return f"{name} has no member left"
    return f"{name} has {_members(row.after)}" + (f", before {_members(row.before)}" if row.before else "")


def _members(values: Values) -> str:
    return ", ".join(f"{broker_id}={addr}" for broker_id, addr in _addrs(values)) or "no member"


def _topic(row: RowChange) -> str:
    return f"topic {row.key[1]} on {row.key[2]}: {_queues(row.before)} -> {_queues(row.after)}"


def _queues(values: Values | None) -> str:
    if values is None:
        return "none"
    read, write, perm, _ = values
    assert isinstance(perm, int)
    return f"{format_perm(perm)} {read}/{write} queues"


def _mapping(row: RowChange) -> str:
    return f"mapping of {row.key[1]} on {row.key[2]} is {'gone' if row.after is None else 'changed'}"


def _filter(row: RowChange) -> str:
    return f"filter servers of {row.key[2]}: {', '.join(map(str, row.after or ())) or 'none'}"


def _kv(row: RowChange) -> str:
    namespace, key = row.key[1:]
    entry = (
        f"order configuration of {key}" if namespace == ORDER_TOPIC_CONFIG else f"KV entry {namespace}/{key}"
    )
    return f"{entry}: {_value(row.before)} -> {_value(row.after)}"


def _config(row: RowChange) -> str:
    return f"property {row.key[1]}: {_value(row.before)} -> {_value(row.after)}"


def _value(values: Values | None) -> str:
    if values is None:
        return "none"
    text = str(values[0])
    return (
        f'"{text}"' if len(text) <= _VALUE_LIMIT else f'"{text[:_VALUE_LIMIT]}..." ({len(text)} characters)'
    )


_TEXTS = {
    "group": _group, "topic": _topic, "mapping": _mapping, "filter": _filter, "kv": _kv, "config": _config,
}  # fmt: skip
