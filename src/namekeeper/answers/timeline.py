"""Merges changes of several name servers into one timeline: what several recorded is one entry."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from namekeeper.answers.phrases import caused_by
from namekeeper.answers.times import Zone, shown_window
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable
from namekeeper.history.history import NOT_OBSERVED, OBSERVED, RESTART_POSSIBLE, RESTART_SEEN
from namekeeper.history.rows import (
    AnyKey,
    FilterKey,
    GroupKey,
    HistoryEvent,
    KvKey,
    LiveKey,
    MappingKey,
    PropertyKey,
    Row,
    RowChange,
    TopicKey,
    What,
    names_of,
)
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    Config,
    FilterServers,
    Kv,
    TopicMapping,
    TopicQueuesRow,
)
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.model.perm import format_perm

__all__ = [
    "EntryValue",
    "RowChangeValue",
    "TimelineEntry",
    "entry_value",
    "row_change_text",
    "row_change_value",
    "timeline",
    "timeline_json",
    "timeline_lines",
]

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
    windows: dict[str, int] = {}
    """Id of an observed name server -> how long before that it may have happened there, ms."""


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
            or event.at - event.window_ms - entry.at > SAME_MS
        ):
            entry = newest[content] = TimelineEntry(event.at, event, {})
            entries.append(entry)
        entry.seen[event.namesrv] = event.at
        if event.window_ms:
            entry.windows[event.namesrv] = event.window_ms
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
        when = shown_window(entry.at, entry.event.window_ms, zone)
        yield printable(f"{when}  {_sentence(entry.event, rows_shown)}  [{_seen(entry)}]")


def timeline_json(entries: Iterable[TimelineEntry]) -> str:
    """A list of the entries, with every row before and after."""
    return msgspec.json.format(
        msgspec.json.encode([entry_value(entry) for entry in entries]), indent=2
    ).decode()


class RowChangeValue(Struct, frozen=True):
    """The change of one row, in JSON."""

    kind: str
    key: tuple[str, ...]
    before: tuple[Any, ...] | None
    """The members of the row before; null: there was none."""
    after: tuple[Any, ...] | None
    """The members of the row since then; null: there is none."""


class EntryValue(Struct, frozen=True, kw_only=True):
    """A change, in JSON."""

    at: int
    """Wall ms."""
    seen: dict[str, int]
    """Id of the name server -> wall ms."""
    window_ms: dict[str, int] | UnsetType = UNSET
    """Id of an observed name server -> how long before that it may have happened there, ms."""
    what: What
    cause: str | None
    peer: str | None
    closed_by: str | None
    text: str
    """The change in words."""
    rows: list[RowChangeValue]


def entry_value(entry: TimelineEntry, rows: Sequence[RowChange] | None = None) -> EntryValue:
    """An entry as a value for JSON.

    Args:
        entry: its text is about all its rows.
        rows: the rows that are given before and after; None: all.
    """
    event = entry.event
    return EntryValue(
        at=entry.at,
        seen=entry.seen,
        window_ms=entry.windows or UNSET,
        what=event.what,
        cause=event.cause or None,
        peer=event.peer or None,
        closed_by=event.closed_by or None,
        text=_sentence(event),
        rows=[row_change_value(row) for row in (event.rows if rows is None else rows)],
    )


def row_change_text(row: RowChange) -> str:
    """The change of one row in words."""
    return _TEXTS[type(row.key)](row.key, row.before, row.after)


def row_change_value(row: RowChange) -> RowChangeValue:
    """The change of one row as a value for JSON."""
    return RowChangeValue(row.key.kind, names_of(row.key), _values(row.before), _values(row.after))


def _values(row: Row | None) -> tuple[object, ...] | None:
    """The members of a row that JSON shows, in this order."""
    if row is None:
        return None
    if isinstance(row, BrokerLive):
        return row.broker_name, row.broker_id, row.ha_server_addr, row.data_version, row.gen
    if isinstance(row, TopicQueuesRow):
        return row.read_queue_nums, row.write_queue_nums, row.perm, row.topic_sys_flag
    if isinstance(row, BrokerGroup):
        return row.cluster, row.zone, row.acting_master, tuple(_members_of(row))
    return _few_values(row)


def _few_values(row: TopicMapping | FilterServers | Kv | Config) -> tuple[object, ...]:
    if isinstance(row, TopicMapping):
        return (bytes(row.mapping).decode(),)
    if isinstance(row, FilterServers):
        return tuple(row.filter_servers)
    return (_text_of(row),)


def _content(event: HistoryEvent) -> object:
    """The part of an event that is equal at all name servers: without the peer's port and the generation."""
    rows = tuple((row.key, _comparable(row.before), _comparable(row.after)) for row in event.rows)
    return event.what, event.cause, event.peer.rpartition(":")[0], tuple(sorted(rows, key=repr))


def _comparable(row: Row | None) -> tuple[object, ...] | None:
    values = _values(row)
    return values[:-1] if values is not None and isinstance(row, BrokerLive) else values


def _seen(entry: TimelineEntry) -> str:
    parts = []
    for namesrv, at in entry.seen.items():
        later = at - entry.at
        parts.append(f"{namesrv} +{later:,} ms" if later else namesrv)
    return ", ".join(parts)


def _sentence(event: HistoryEvent, rows_shown: int | None = ROWS_SHOWN) -> str:
    if event.what is What.STARTED:
        return _STARTS.get(event.cause, _STARTS[""])
    if event.what is What.STOPPED:
        return "the name server stopped"
    if event.what is What.LOST and event.cause == NOT_OBSERVED:
        return "the name server is not observed from here on"
    if event.what is What.LOST:
        return "records are lost from here on, until a checkpoint"
    why = f" ({caused_by(event.cause, event.peer, event.closed_by)})" if event.cause else ""
    if event.what is What.CORRECTED:
        why = " (found by a checkpoint: when and why it changed is not recorded)"
    came = "is back" if event.cause == "restored" else "registered"
    return "; ".join(_texts(event.rows, came, rows_shown)) + why


_STARTS = {
    "": "the name server started: it knows what it restored, and who has registered since",
    OBSERVED: "the name server is observed from here on",
    RESTART_SEEN: "the name server is observed again: it has restarted",
    RESTART_POSSIBLE: "the name server is observed again: it may have restarted",
}
"""Cause of a start -> its text."""


def _texts(rows: Sequence[RowChange], came: str, rows_shown: int | None) -> Iterator[str]:
    """A text for each of the first rows of a kind.

    Args:
        rows: The rows of one event.
        came: The action of a broker that was not there before.
        rows_shown: How many rows of a kind; None: all.
    """
    addrs = {row.key.broker_addr for row in rows if isinstance(row.key, LiveKey)}
    others = [row for row in rows if not (isinstance(row.key, GroupKey) and _is_explained_by(row, addrs))]
    texts: Mapping[type[AnyKey], _TextOf] = {**_TEXTS, LiveKey: partial(_live, came=came)}
    for kind, text in texts.items():
        of_kind = [row for row in others if isinstance(row.key, kind)]
        yield from (text(row.key, row.before, row.after) for row in of_kind[:rows_shown])
        if more := len(of_kind[rows_shown:]) if rows_shown is not None else 0:
            yield shown_count(more, f"more {kind.kind} row")


def _live(key: LiveKey, before: BrokerLive | None, after: BrokerLive | None, came: str) -> str:
    one = after or before
    assert one is not None
    who = f"broker {one.broker_name} (id {one.broker_id}) at {key.broker_addr}"
    if after is None:
        return f"{who} is gone"
    if before is None:
        return f"{who} {came}"
    if before.gen != after.gen:
        return f"{who} registered again"
    return f"{who} has another data version or HA address"


def _is_explained_by(change: RowChange, addrs: set[str]) -> bool:
    """Whether a group changed by nothing but members that came or went, and have entries themselves."""
    before, after = change.before, change.after
    assert before is None or isinstance(before, BrokerGroup)
    assert after is None or isinstance(after, BrokerGroup)
    if before and after and structs.replace(before, broker_addrs=after.broker_addrs) != after:
        return False
    changed = {*_members_of(before)} ^ {*_members_of(after)}
    return bool(changed) and {addr for _, addr in changed} <= addrs


def _members_of(group: BrokerGroup | None) -> Sequence[tuple[int, str]]:
    return () if group is None else sorted(group.broker_addrs.items())


def _group(key: GroupKey, before: BrokerGroup | None, after: BrokerGroup | None) -> str:
    name = f"group {key.broker_name}"
    if after is None:
        return f"{name} has no member left"
    return f"{name} has {_members(after)}" + (f", before {_members(before)}" if before else "")


def _members(group: BrokerGroup) -> str:
    return ", ".join(f"{broker_id}={addr}" for broker_id, addr in _members_of(group)) or "no member"


def _topic(key: TopicKey, before: TopicQueuesRow | None, after: TopicQueuesRow | None) -> str:
    return f"topic {key.topic} on {key.broker_name}: {_queues(before)} -> {_queues(after)}"


def _queues(row: TopicQueuesRow | None) -> str:
    return (
        "none"
        if row is None
        else f"{format_perm(row.perm)} {row.read_queue_nums}/{row.write_queue_nums} queues"
    )


def _mapping(key: MappingKey, _before: object, after: TopicMapping | None) -> str:
    return f"mapping of {key.topic} on {key.broker_name} is {'gone' if after is None else 'changed'}"


def _filter(key: FilterKey, _before: object, after: FilterServers | None) -> str:
    servers = () if after is None else after.filter_servers
    return f"filter servers of {key.broker_addr}: {', '.join(servers) or 'none'}"


def _kv(key: KvKey, before: Kv | None, after: Kv | None) -> str:
    is_order = key.namespace == ORDER_TOPIC_CONFIG
    entry = f"order configuration of {key.key}" if is_order else f"KV entry {key.namespace}/{key.key}"
    return f"{entry}: {_value(before)} -> {_value(after)}"


def _config(key: PropertyKey, before: Config | None, after: Config | None) -> str:
    return f"property {key.name}: {_value(before)} -> {_value(after)}"


def _value(row: Kv | Config | None) -> str:
    if row is None:
        return "none"
    text = _text_of(row)
    return (
        f'"{text}"' if len(text) <= _VALUE_LIMIT else f'"{text[:_VALUE_LIMIT]}..." ({len(text)} characters)'
    )


def _text_of(row: Kv | Config) -> str:
    """The value of a KV entry, or of the one property of a row."""
    return row.value if isinstance(row, Kv) else next(iter(row.properties.values()))


_TextOf = Callable[[Any, Any, Any], str]
"""Gives the text of a change, by its key and its row before and after."""
_TEXTS: Mapping[type[AnyKey], _TextOf] = {
    LiveKey: partial(_live, came="registered"), TopicKey: _topic, GroupKey: _group, MappingKey: _mapping,
    FilterKey: _filter, KvKey: _kv, PropertyKey: _config,
}  # fmt: skip
"""Kind of key -> the text of a change of such a row; in this order."""
