"""The changes of the rows about one topic, broker or address at one name server.

The rows at the beginning of a window and the changes in it give the rows at its end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, structs

from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    BrokerNameRemovedRecord,
    FilterServers,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Step, Stopped
from namekeeper.journal.reading.state import State
from namekeeper.messages.bodies import encode_mapping

__all__ = ["HistoryEvent", "Key", "RowChange", "RowChanges", "Values", "What", "fold", "rows_of"]

Key = tuple[str, ...]
"""`topic` or `mapping`, topic, broker name; `group`, broker name; `live` or `filter`, cluster, address."""
Values = tuple[object, ...]


_ALWAYS, _NEVER = -1, 2**63


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


class RowChanges:
    """Follows the steps of one name server.

    Args:
        namesrv: its id.
        name: a topic, a broker name, an address, or the host of addresses. For a topic the registrations of
            the brokers that have it count too. None: every row.
    """

    def __init__(self, namesrv: str, name: str | None) -> None:
        self._namesrv = namesrv
        self._name = name
        self._rows: dict[Key, Values] = {}
        self._events: list[HistoryEvent] = []

    @property
    def events(self) -> Sequence[HistoryEvent]:
        """All events so far; the time of an event becomes smaller if a later step has an earlier time."""
        return self._events

    def take(self, step: Step) -> None:
        """Follow one step."""
        for event in reversed(self._events):
            if event.at <= step.ts:
                break
            event.at = step.ts
        if isinstance(step, Changed):
            first = step.records[0]
            self._change(step, What.CHANGE, self._changed(step.records), first.cause, first.peer)
        elif isinstance(step, CheckpointApplied):
            self._correct(step)
        elif isinstance(step, Began):
            self._change(step, What.STARTED, dict.fromkeys(self._rows))
        elif isinstance(step, Stopped | Lost):
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

    def _correct(self, step: CheckpointApplied) -> None:
        known = rows_of(step.state)
        self._change(step, What.CORRECTED, {**dict.fromkeys(self._rows), **known})

    def _change(
        self,
        step: Step,
        what: What,
        after: Mapping[Key, Values | None],
        cause: str = "",
        peer: str = "",
    ) -> None:
        rows = [
            RowChange(key, self._rows.get(key), values)
            for key, values in after.items()
            if self._may_matter(key) and self._rows.get(key) != values
        ]
        for row in rows:
            if row.after is None:
                del self._rows[row.key]
            else:
                self._rows[row.key] = row.after
        if rows or what is What.STARTED:
            self._events.append(HistoryEvent(step.ts, self._namesrv, what, cause, peer, rows))

    def _may_matter(self, key: Key) -> bool:
        """Whether a row is about the name, or about a broker that may turn out to have the topic."""
        return self._name is None or key[0] not in {"topic", "mapping"} or self._name in key[1:]

    def _is_of_topic(self, key: Key) -> bool:
        return key[0] in {"topic", "mapping"} and key[1] == self._name

    def _is_about(self, row: RowChange, brokers: set[str]) -> bool:
        """Whether a row is about the name, or about one of the brokers that have, or had, the topic."""
        if self._name is None:
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


def _rows_in(record: Record) -> Iterator[tuple[Key, Values | None]]:
    if isinstance(record, TopicQueues):
        for row in record.rows:
            yield ("topic", row[0], record.broker_name), tuple(row[1:]) or None
    elif isinstance(record, BrokerLive):
        version = record.data_version or (0, 0, 0)
        yield (
            ("live", record.cluster, record.broker_addr),
            None
            if record.gone
            else (
                record.broker_name,
                record.broker_id,
                record.ha_server_addr,
                tuple(version),
                record.gen,
            ),
        )
    elif isinstance(record, BrokerGroup):
        members = tuple(sorted(record.broker_addrs.items()))
        row = (record.cluster, record.zone, record.acting_master, members)
        yield ("group", record.broker_name), None if record.gone else row
    elif isinstance(record, TopicMapping):
        yield (
            ("mapping", record.topic, record.broker_name),
            None if record.gone else (bytes(record.mapping).decode(),),
        )
    elif isinstance(record, FilterServers):
        yield ("filter", record.cluster, record.broker_addr), tuple(record.filter_servers) or None


def _key(row: RowChange) -> Key:
    return row.key


def _members(group: Values) -> Sequence[tuple[int, str]]:
    members = group[3]
    assert isinstance(members, tuple)
    return members


def _is_row_of(key: Key, broker_name: str) -> bool:
    return key[0] == "topic" and key[2] == broker_name
