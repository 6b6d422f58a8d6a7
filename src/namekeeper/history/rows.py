"""The typed rows of a history, their keys, and what happens to them.

A row is a record of the journal's contract without its envelope, or one `TopicQueuesRow`. A new field of a
record is a part of its row at once; the contract states which fields are not.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from enum import StrEnum
from functools import cache
from sys import getsizeof
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import NODEFAULT, Raw, Struct, structs

from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    Config,
    FilterServers,
    Kv,
    Record,
    TopicMapping,
    TopicQueues,
    TopicQueuesRow,
)
from namekeeper.journal.contract.stated import RowPart, fields_of
from namekeeper.journal.reading.coverage import EffectiveTime

__all__ = [
    "ABOUT_ROWS",
    "IN_FILES",
    "AnyKey",
    "FilterKey",
    "GroupKey",
    "HistoryEvent",
    "Key",
    "KvKey",
    "LiveKey",
    "MappingKey",
    "PropertyKey",
    "Row",
    "RowChange",
    "RowVersion",
    "Rows",
    "TopicKey",
    "ValidPeriod",
    "What",
    "is_about_a_name",
    "is_at",
    "joined",
    "names_of",
    "order_of",
    "rows_in",
    "size_of",
]

Row = BrokerLive | BrokerGroup | TopicQueuesRow | TopicMapping | FilterServers | Kv | Config
R = TypeVar("R", bound=Row)
Rec = TypeVar("Rec", bound=Record)


class Key(Struct, Generic[R], frozen=True, gc=False):
    """The key of a row of type `R`."""

    kind: ClassVar[str] = ""
    """The name of the kind of row in JSON and in texts."""


class LiveKey(Key[BrokerLive], frozen=True, gc=False):
    """The key of a live registration."""

    kind: ClassVar[str] = "live"
    cluster: str
    broker_addr: str


class GroupKey(Key[BrokerGroup], frozen=True, gc=False):
    """The key of a broker group."""

    kind: ClassVar[str] = "group"
    broker_name: str


class TopicKey(Key[TopicQueuesRow], frozen=True, gc=False):
    """The key of the queues of a topic on one broker name."""

    kind: ClassVar[str] = "topic"
    topic: str
    broker_name: str


class MappingKey(Key[TopicMapping], frozen=True, gc=False):
    """The key of the static-topic mapping of a topic on one broker name."""

    kind: ClassVar[str] = "mapping"
    topic: str
    broker_name: str


class FilterKey(Key[FilterServers], frozen=True, gc=False):
    """The key of the filter servers of a live registration."""

    kind: ClassVar[str] = "filter"
    cluster: str
    broker_addr: str


class KvKey(Key[Kv], frozen=True, gc=False):
    """The key of an entry of the KV configuration."""

    kind: ClassVar[str] = "kv"
    namespace: str
    key: str


class PropertyKey(Key[Config], frozen=True, gc=False):
    """The key of a property; its row is a `Config` with this property alone."""

    kind: ClassVar[str] = "config"
    name: str


AnyKey = LiveKey | GroupKey | TopicKey | MappingKey | FilterKey | KvKey | PropertyKey

IN_FILES = (KvKey, PropertyKey)
"""Keys of rows that a name server keeps in its files when it stops."""


class What(StrEnum):
    """Kinds of events at a name server."""

    CHANGE = "change"
    STARTED = "started"
    STOPPED = "stopped"
    LOST = "lost"
    CORRECTED = "corrected"
    """A checkpoint after a loss has other rows than there were before."""


ABOUT_ROWS = frozenset({What.CHANGE, What.CORRECTED})
"""Events that count only if they changed a row."""


class RowChange(Struct, frozen=True):
    """A row before and after a change; None: there is none."""

    key: AnyKey
    before: Row | None
    after: Row | None


class HistoryEvent(Struct):
    """One change at one name server, or its start, stop or loss."""

    when: int | EffectiveTime
    """Effective time; an `EffectiveTime` may become earlier while the history is read."""
    namesrv: str
    what: What
    cause: str = ""
    peer: str = ""
    rows: Sequence[RowChange] = ()
    closed_by: str = ""
    """If connections closed: who closed them, a value of `ClosedBy`."""
    boot: int = 0
    window_ms: int = 0
    """The event happened at most so long before `at`: an observer recorded it; 0: exactly then."""
    number: int = 0
    """Position of the step in its history; 0 outside of a history."""

    @property
    def at(self) -> int:
        """Effective time, wall ms."""
        when = self.when
        return when.ms if isinstance(when, EffectiveTime) else when

    @property
    def is_shown(self) -> bool:
        """Whether it changed a row, or is a start, a stop or a loss."""
        return bool(self.rows) or self.what not in ABOUT_ROWS


class ValidPeriod(Struct, Generic[R], frozen=True):
    """A row, and a period in which it was known to be valid."""

    row: R
    since: HistoryEvent
    """The event that made the row; or a checkpoint that shows it again after a loss."""
    until: HistoryEvent | None = None
    """None: the row is still valid."""
    ended_by: str = ""
    """gone, changed, checkpoint (which has no such row), unknown (records were lost), or stopped."""
    ending: Record | None = None
    """The record that says that it is gone, if that record says more than this."""

    def lasting_as(self, other: "ValidPeriod[R]") -> "ValidPeriod[R]":
        """The same row, until the end of another period that continues this one."""
        return ValidPeriod(self.row, self.since, other.until, other.ended_by, other.ending)

    def replaced_by(self, other: "ValidPeriod[R]") -> "ValidPeriod[R]":
        """The same row, until another one replaced it."""
        return ValidPeriod(self.row, self.since, other.since, "changed")


class RowVersion(Struct, Generic[R]):
    """A row from the event that made it to the event that ended it, whatever was lost in between."""

    row: R
    begun: HistoryEvent
    ended: HistoryEvent | None = None
    ended_by: str = ""
    ending: Record | None = None
    named_again: tuple[HistoryEvent, ...] = ()
    """Events that name it without changing it: each that shows it first after a loss, or removes it again."""

    @property
    def valid_from(self) -> int:
        """Wall ms."""
        return self.begun.at

    @property
    def valid_to(self) -> int | None:
        """Wall ms, not included; None: still valid."""
        return None if self.ended is None else self.ended.at

    def is_valid(self, at: int) -> bool:
        """Whether the row was valid at a time."""
        return self.begun.at <= at and (self.ended is None or at < self.ended.at)

    def removed_by(self, at: int) -> HistoryEvent | None:
        """The last event up to a time that removed the row, also again; None if it was not removed."""
        if self.ended is None or at < self.ended.at:
            return None
        again = (each for each in reversed(self.named_again) if self.ended.number < each.number)
        return next((each for each in again if each.at <= at), self.ended)

    def periods(
        self, marks: Sequence[HistoryEvent], *, at_checkpoints: bool = False
    ) -> Iterator[ValidPeriod[R]]:
        """The periods in which the row is known to have been valid.

        Args:
            marks: the losses and stops of the name server, and its first checkpoint after each of them, in
                order.
            at_checkpoints: whether nothing is known between a loss or a stop and the next checkpoint.
                Otherwise a row is known again from the first event that shows it.
        """
        first = bisect_right(marks, self.begun.number, key=_number)
        end = len(marks) if self.ended is None else bisect_left(marks, self.ended.number, key=_number)
        within = marks[first:end]
        since: HistoryEvent | None = self.begun
        if not at_checkpoints:
            within = sorted([*within, *self._shown_again()], key=_number)
        elif not first or marks[first - 1].what in _CUTS:
            since = None
        for event in within:
            if event.what not in _CUTS:
                since = since or event
            elif since is not None:
                yield ValidPeriod(self.row, since, event, _CUTS[event.what])
                since = None
        if since is not None:
            yield ValidPeriod(self.row, since, self.ended, self.ended_by, self.ending)

    def _shown_again(self) -> Iterator[HistoryEvent]:
        """Events that show the row while it is valid."""
        for event in self.named_again:
            if self.begun.number < event.number and (self.ended is None or event.number < self.ended.number):
                yield event


_CUTS = {What.LOST: "unknown", What.STOPPED: "stopped"}
"""Events after which nothing is known of a row, until it is shown again -> what ends its period."""


def joined(
    periods: Iterable[ValidPeriod[R]], value_of: Callable[[ValidPeriod[R]], object]
) -> list[ValidPeriod[R]]:
    """The periods of the values of a row: equal values that follow each other are one.

    A value ends by the last record of the instant of its end. One that lasted for no time is left out.

    Args:
        periods: of the versions of one row, in order.
        value_of: gives the value in a period.
    """
    found: list[ValidPeriod[R]] = []
    for period in periods:
        since, end = period.since.at, period.until
        until = None if end is None else end.at
        last = found[-1] if found else None
        if last is not None and last.until is not None and last.until.at == since:
            is_new = period.since.what is What.CHANGE
            is_over_at_once = until == since and is_new and end is not None and end.what not in _CUTS
            if is_over_at_once or (until != since and value_of(last) == value_of(period)):
                found[-1] = last.lasting_as(period)
                continue
            if is_new and last.ended_by in {"gone", "checkpoint"}:
                found[-1] = last.replaced_by(period)
        if until is None or since < until:
            found.append(period)
    return found


class Rows:
    """The rows that records make: those of a checkpoint."""

    def __init__(self) -> None:
        self.of: dict[AnyKey, Row] = {}

    def apply(self, records: Iterable[Record]) -> None:
        """Apply records."""
        for record in records:
            for key, row in rows_in(record):
                if row is None:
                    self.of.pop(key, None)
                else:
                    self.of[key] = row


def rows_in(record: Record) -> Iterator[tuple[AnyKey, Row | None]]:
    """Return the rows that a record states; None: the row is gone.

    A `BrokerNameRemovedRecord` says nothing here: which rows are gone depends on those that were there.
    """
    read = _READERS.get(type(record))
    return iter(()) if read is None else read(record)


def names_of(key: AnyKey) -> tuple[str, ...]:
    """The names in a key."""
    return structs.astuple(key)


def order_of(change: RowChange) -> tuple[str, ...]:
    """Sorts changes of rows by kind and names."""
    return (change.key.kind, *structs.astuple(change.key))


def is_about_a_name(event: HistoryEvent) -> bool:
    """Whether an event has a row of a topic, a broker or a KV entry: properties are about no name."""
    return any(not isinstance(row.key, PropertyKey) for row in event.rows)


def is_at(name: str, addr: str) -> bool:
    """Whether a name is an address, or the host of the address."""
    return name == addr or name == addr.rpartition(":")[0]


def size_of(value: object) -> int:
    """Memory of a row in bytes, about; 0 for a row of a topic, whose names are in its key."""
    if isinstance(value, str):
        return getsizeof(value)
    if isinstance(value, TopicQueuesRow):
        return 0
    if isinstance(value, Record):
        own = structs.astuple(value)[len(Record.__struct_fields__) :]
        return getsizeof(value) + sum([size_of(each) for each in own if each])
    if isinstance(value, dict):
        return getsizeof(value) + sum([size_of(each) for item in value.items() for each in item])
    if isinstance(value, list | tuple):
        return getsizeof(value) + sum([size_of(each) for each in value])
    return getsizeof(bytes(value) if isinstance(value, Raw) else value)


def _number(event: HistoryEvent) -> int:
    return event.number


_ENVELOPE = frozenset(Record.__struct_fields__)


def _bare(record: Rec) -> Rec:
    """A record without its envelope, and without members that are no part of its row."""
    row = copy(record)
    for name, default in _defaults_beside(type(record)):
        setattr(row, name, default)
    return row


@cache
def _defaults_beside(kind: type[Record]) -> Sequence[tuple[str, object]]:
    """Fields that make no other row, with their defaults: envelope, notes, the end, a broker's timeout."""
    beside = {each.name for each in fields_of(kind) if each.part in {RowPart.END, RowPart.NOTE}} | _ENVELOPE
    if kind is BrokerLive:
        beside.add("timeout_ms")
    return [
        (each.name, each.default if each.default_factory is NODEFAULT else each.default_factory())
        for each in structs.fields(kind)
        if each.name in beside
    ]


def _live(record: BrokerLive) -> Iterator[tuple[LiveKey, BrokerLive | None]]:
    key = LiveKey(record.cluster, record.broker_addr)
    if record.gone:
        yield key, None
        return
    row = _bare(record)
    row.data_version = row.data_version or (0, 0, 0)
    yield key, row


def _group(record: BrokerGroup) -> Iterator[tuple[GroupKey, BrokerGroup | None]]:
    yield GroupKey(record.broker_name), None if record.gone else _bare(record)


def _topics(record: TopicQueues) -> Iterator[tuple[TopicKey, TopicQueuesRow | None]]:
    name = record.broker_name
    for row in record.rows:
        yield TopicKey(row[0], name), TopicQueuesRow(*row) if len(row) > 1 else None


def _mapping(record: TopicMapping) -> Iterator[tuple[MappingKey, TopicMapping | None]]:
    key = MappingKey(record.topic, record.broker_name)
    if record.gone:
        yield key, None
        return
    row = _bare(record)
    row.mapping = record.mapping.copy()  # without the rest of its line
    yield key, row


def _filter_servers(record: FilterServers) -> Iterator[tuple[FilterKey, FilterServers | None]]:
    yield FilterKey(record.cluster, record.broker_addr), _bare(record) if record.filter_servers else None


def _kv(record: Kv) -> Iterator[tuple[KvKey, Kv | None]]:
    yield KvKey(record.namespace, record.key), None if record.gone else _bare(record)


def _properties(record: Config) -> Iterator[tuple[PropertyKey, Config]]:
    for name, value in record.properties.items():
        yield PropertyKey(name), Config(properties={name: value})


_READERS: Mapping[type[Record], Callable[[Any], Iterator[tuple[AnyKey, Row | None]]]] = {
    BrokerLive: _live,
    BrokerGroup: _group,
    TopicQueues: _topics,
    TopicMapping: _mapping,
    FilterServers: _filter_servers,
    Kv: _kv,
    Config: _properties,
}
"""Kind of record -> the rows in it."""
