"""The changes of the rows about one topic, broker or address at one name server.

The rows at the beginning of a window and the changes in it give the rows at its end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    BrokerNameRemovedRecord,
    Config,
    FilterServers,
    Kv,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Step, Stopped
from namekeeper.journal.reading.state import State
from namekeeper.messages.bodies import encode_mapping
from namekeeper.processor.route_answers import ORDER_TOPIC_CONFIG
from namekeeper.route.events import Cause

__all__ = [
    "HistoryEvent",
    "Key",
    "RowChange",
    "RowChanges",
    "Values",
    "What",
    "fold",
    "is_about_a_name",
    "rows_of",
]

Key = tuple[str, ...]
"""`topic` or `mapping`, topic, broker name; `group`, broker name; `live` or `filter`, cluster, address; `kv`,
namespace, key; `config`, property."""
Values = tuple[object, ...]


STARTED_WITH = "started_with"
"""Cause of a change: the name server started with other properties or KV entries than it had before."""
_ALWAYS, _NEVER = -1, 2**63
_IN_FILES = frozenset({"kv", "config"})
"""Kinds of rows that a name server keeps in its files when it stops."""


class What(StrEnum):
    """Kinds of events at a name server."""

    CHANGE = "change"
    STARTED = "started"
    STOPPED = "stopped"
    LOST = "lost"
    CORRECTED = "corrected"
    """A checkpoint after a loss has other rows than there were before."""


class RowChange(Struct, frozen=True):
    """A row before and after a change; None: there is none."""

    key: Key
    before: Values | None
    after: Values | None


class HistoryEvent(Struct):
    """One change at one name server, or its start, stop or loss."""

    at: int
    """Effective time, wall ms."""
    namesrv: str
    what: What
    cause: str = ""
    peer: str = ""
    rows: Sequence[RowChange] = ()
    closed_by: str = ""
    """If connections closed: who closed them, a value of `ClosedBy`."""


class RowChanges:
    """Follows the steps of one name server.

    Args:
        namesrv: its id.
        name: a topic, a broker name, an address, or the host of addresses. For a topic the registrations of
            the brokers that have it count too, and its order configuration. The properties of the name server
            count for every name. None: every row.
    """

    def __init__(self, namesrv: str, name: str | None) -> None:
        self._namesrv = namesrv
        self._name = name
        self._rows: dict[Key, Values] = {}
        self._has_settings = False
        """Whether the KV configuration and the properties are known: the first ones are no change."""
        self._is_starting = False
        """Whether the next checkpoint is that of a start: it shows the files that the server read then."""
        self._events: list[HistoryEvent] = []

    @property
    def events(self) -> Sequence[HistoryEvent]:
        """All events so far; the time of an event becomes smaller if a later step has an earlier time."""
        return self._events

    def drop(self, count: int) -> None:
        """Drop the oldest events; the rows stay as they are."""
        del self._events[:count]

    def take(self, step: Step) -> None:
        """Follow one step."""
        for event in reversed(self._events):
            if event.at <= step.ts:
                break
            event.at = step.ts
        if isinstance(step, Changed):
            first = step.records[0]
            gone_before = list(self._gone_before(step.records))
            self._change(step, What.CHANGE, self._changed(step.records), first.cause, first.peer, gone_before)
            self._note_who_closed(step)
        elif isinstance(step, CheckpointApplied):
            self._correct(step)
        elif isinstance(step, Began):
            gone = [key for key in self._rows if key[0] not in _IN_FILES]
            self._change(step, What.STARTED, dict.fromkeys(gone))
            self._is_starting = True
        elif isinstance(step, Stopped | Lost):
            self._is_starting = False
            what = What.STOPPED if isinstance(step, Stopped) else What.LOST
            self._events.append(HistoryEvent(step.ts, self._namesrv, what))

    def result(self, begin_at: int = _ALWAYS, end_at: int = _NEVER) -> list[HistoryEvent]:
        """The events after `begin_at`, up to `end_at`, in order."""
        events = [event for event in self._events if event.at <= end_at]
        brokers = {row.key[2] for event in events for row in event.rows if self._is_of_topic(row.key)}
        found: list[HistoryEvent] = []
        for event in events:
            about = (row for row in event.rows if self._is_about(row, brokers))
            rows = sorted(about, key=_key)
            if event.at > begin_at and (rows or event.what not in {What.CHANGE, What.CORRECTED}):
                found.append(structs.replace(event, rows=rows))
        return found

    def _changed(self, records: Iterable[Record]) -> dict[Key, Values | None]:
        after: dict[Key, Values | None] = {}
        for record in records:
            if isinstance(record, BrokerNameRemovedRecord):
                gone = [key for key in {**self._rows, **after} if _is_row_of(key, record.broker_name)]
                after.update(dict.fromkeys(gone))
            else:
                after.update(_rows_in(record))
        return after

    def _note_who_closed(self, step: Changed) -> None:
        """Note who closed the connection of a broker that went with it."""
        found = [record.closed_by for record in step.records if isinstance(record, BrokerLive)]
        if self._events and any(found):
            self._events[-1].closed_by = next(filter(None, found))

    def _gone_before(self, records: Iterable[Record]) -> Iterator[RowChange]:
        """Rows that had gone before: a client unregistered a missing broker, or deleted a missing topic."""
        for record in records:
            if isinstance(record, BrokerLive) and record.gone and record.cause == Cause.UNREGISTER:
                key: Key = ("live", record.cluster, record.broker_addr)
                if key not in self._rows:
                    yield RowChange(
                        key, (record.broker_name, record.broker_id, "", (0, 0, 0), record.gen), None
                    )
            elif isinstance(record, TopicQueues) and record.cause == Cause.DELETE_TOPIC:
                for topic, *_ in record.rows:
                    key = ("topic", topic, record.broker_name)
                    if key not in self._rows and self._may_matter(key):
                        yield RowChange(key, None, None)

    def _correct(self, step: CheckpointApplied) -> None:
        known = rows_of(step.state)
        settings = {key: row for key, row in _settings_of(step.state).items() if self._may_matter(key)}
        if not self._has_settings:
            self._has_settings = True
            self._rows.update(settings)
        elif self._is_starting:
            gone = [key for key in self._rows if key[0] in _IN_FILES]
            self._change(step, What.CHANGE, {**dict.fromkeys(gone), **settings}, STARTED_WITH)
        self._is_starting = False
        self._change(step, What.CORRECTED, {**dict.fromkeys(self._rows), **known, **settings})

    def _change(
        self,
        step: Step,
        what: What,
        after: Mapping[Key, Values | None],
        cause: str = "",
        peer: str = "",
        gone_before: Sequence[RowChange] = (),
    ) -> None:
        rows = [
            *gone_before,
            *(
                RowChange(key, self._rows.get(key), values)
                for key, values in after.items()
                if self._may_matter(key) and self._rows.get(key) != values
            ),
        ]
        for row in rows:
            if row.after is None:
                self._rows.pop(row.key, None)
            else:
                self._rows[row.key] = row.after
        if rows or what is What.STARTED:
            self._events.append(HistoryEvent(step.ts, self._namesrv, what, cause, peer, rows))

    def _may_matter(self, key: Key) -> bool:
        """Whether a row is about the name, or about a broker that may turn out to have the topic."""
        if key[0] == "kv" and self._name is not None:
            return key[1:] == (ORDER_TOPIC_CONFIG, self._name)
        return self._name is None or key[0] not in {"topic", "mapping"} or self._name in key[1:]

    def _is_of_topic(self, key: Key) -> bool:
        return key[0] in {"topic", "mapping"} and key[1] == self._name

    def _is_about(self, row: RowChange, brokers: set[str]) -> bool:
        """Whether a row is about the name, or about one of the brokers that have, or had, the topic."""
        if self._name is None or row.key[0] in _IN_FILES:
            return True
        if row.key[0] == "live":
            names = {str(values[0]) for values in (row.before, row.after) if values is not None}
            addr = row.key[2]
            return self._name in {addr, addr.rpartition(":")[0], *names} or bool(names & brokers)
        if row.key[0] == "group":
            return row.key[1] == self._name or row.key[1] in brokers or self._has_member(row)
        if row.key[0] == "filter":
            return self._name in {row.key[2], row.key[2].rpartition(":")[0]}
        return self._name in row.key[1:]

    def _has_member(self, row: RowChange) -> bool:
        groups = [values for values in (row.before, row.after) if values is not None]
        addrs = [str(addr) for group in groups for _, addr in _members(group)]
        return any(self._name in {addr, addr.rpartition(":")[0]} for addr in addrs)


def is_about_a_name(event: HistoryEvent) -> bool:
    """Whether an event has a row of a topic, a broker or a KV entry: properties are about no name."""
    return any(row.key[0] != "config" for row in event.rows)


def fold(rows: Mapping[Key, Values], events: Iterable[HistoryEvent]) -> dict[Key, Values]:
    """Apply events to rows; returns the rows after them."""
    now = dict(rows)
    for event in events:
        for row in event.rows:
            if row.after is None:
                now.pop(row.key, None)
            else:
                now[row.key] = row.after
    return now


def rows_of(state: State) -> dict[Key, Values]:
    """Every row of a state, by the keys of changes."""
    tables = state.tables
    rows: dict[Key, Values] = {}
    for live in tables.broker_live_table:
        version = live.data_version
        rows["live", live.cluster_name, live.broker_addr] = (
            live.broker_name,
            live.broker_id,
            live.ha_server_addr,
            (version.state_version, version.timestamp, version.counter),
            live.gen,
        )
    for name, group in tables.broker_addr_table.items():
        rows["group", name] = (
            group.cluster,
            group.zone_name,
            group.enable_acting_master,
            tuple(sorted(group.broker_addrs.items())),
        )
    for name, by_topic in tables.topic_queue_table.items():
        for topic, row in by_topic.items():
            queues = row.effective
            rows["topic", topic, name] = (
                queues.read_queue_nums,
                queues.write_queue_nums,
                queues.perm,
                queues.topic_sys_flag,
            )
    for topic, infos in tables.topic_queue_mapping_info_table.items():
        for name, info in infos.items():
            rows["mapping", topic, name] = (encode_mapping(info, standard=True).decode(),)
    for (cluster, addr), servers in tables.filter_server_table.items():
        rows["filter", cluster, addr] = tuple(servers)
    return rows


def _settings_of(state: State) -> dict[Key, Values]:
    """The KV configuration and the properties, by the keys of changes."""
    rows: dict[Key, Values] = {("config", name): (value,) for name, value in state.properties.items()}
    for namespace, entries in state.kv.items():
        rows.update({("kv", namespace, key): (value,) for key, value in entries.items()})
    return rows


def _rows_in(record: Record) -> Iterator[tuple[Key, Values | None]]:
    read = _READERS.get(type(record))
    return iter(()) if read is None else read(record)


def _topic_rows(record: TopicQueues) -> Iterator[tuple[Key, Values | None]]:
    for row in record.rows:
        yield ("topic", row[0], record.broker_name), tuple(row[1:]) or None


def _live_row(record: BrokerLive) -> Iterator[tuple[Key, Values | None]]:
    version = tuple(record.data_version or (0, 0, 0))
    row = (record.broker_name, record.broker_id, record.ha_server_addr, version, record.gen)
    yield ("live", record.cluster, record.broker_addr), None if record.gone else row


def _group_row(record: BrokerGroup) -> Iterator[tuple[Key, Values | None]]:
    members = tuple(sorted(record.broker_addrs.items()))
    row = (record.cluster, record.zone, record.acting_master, members)
    yield ("group", record.broker_name), None if record.gone else row


def _mapping_row(record: TopicMapping) -> Iterator[tuple[Key, Values | None]]:
    row = None if record.gone else (bytes(record.mapping).decode(),)
    yield ("mapping", record.topic, record.broker_name), row


def _filter_row(record: FilterServers) -> Iterator[tuple[Key, Values | None]]:
    yield ("filter", record.cluster, record.broker_addr), tuple(record.filter_servers) or None


def _kv_row(record: Kv) -> Iterator[tuple[Key, Values | None]]:
    yield ("kv", record.namespace, record.key), None if record.gone else (record.value,)


def _config_rows(record: Config) -> Iterator[tuple[Key, Values | None]]:
    for name, value in record.properties.items():
        yield ("config", name), (value,)


_READERS: Mapping[type[Record], Callable[[Any], Iterator[tuple[Key, Values | None]]]] = {
    TopicQueues: _topic_rows,
    BrokerLive: _live_row,
    BrokerGroup: _group_row,
    TopicMapping: _mapping_row,
    FilterServers: _filter_row,
    Kv: _kv_row,
    Config: _config_rows,
}
"""Kind of record -> the rows in it."""


def _key(row: RowChange) -> Key:
    return row.key


def _members(group: Values) -> Sequence[tuple[int, str]]:
    members = group[3]
    assert isinstance(members, tuple)
    return members


def _is_row_of(key: Key, broker_name: str) -> bool:
    return key[0] == "topic" and key[2] == broker_name
