"""Steps without the rows that are not about a topic or the sessions of brokers."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import TypeGuard

from msgspec import structs

from namekeeper.history.rows import AnyKey, GroupKey, LiveKey, MappingKey, Row, Rows, TopicKey, rows_in
from namekeeper.journal.contract.record import BrokerLive, BrokerNameRemovedRecord, Record, TopicQueues
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Seen, Step

__all__ = ["BrokersOfTopic", "is_later_part_of", "narrowed", "steps_of_broker", "steps_of_topic"]

_Keeps = Callable[[AnyKey, Row | None], bool]


def narrowed(
    step: Step, topic: str, brokers: Container[str] | None = None, present: Container[AnyKey] = ()
) -> Step:
    """The step with the rows of a topic and the sessions of brokers alone.

    Args:
        step: as it was read.
        topic: its name.
        brokers: names of the brokers whose sessions count; None: all.
        present: keys of rows that count, too: another broker that takes an address ends the session there.
    """
    if isinstance(step, Changed):
        records = [each for record in step.records for each in _about(record, topic, brokers, present)]
        position = step.boot, step.seq, step.ts
        return Changed(*position, records) if records else Seen(*position, None)
    if isinstance(step, CheckpointApplied):
        rows = Rows()
        rows.of.update(_rows_about(step.state.of, topic, brokers, present))
        return CheckpointApplied(step.boot, step.seq, step.ts, rows)
    return step


class BrokersOfTopic:
    """Follows which brokers have a topic, or had it.

    Args:
        topic: its name.
        limit: largest number of brokers that had it; those that lost it last are kept.
    """

    def __init__(self, topic: str, limit: int) -> None:
        self._topic, self._limit = topic, limit
        self._having: dict[str, None] = {}
        self._former: dict[str, None] = {}
        """Brokers that lost the topic; the last one comes last."""

    @property
    def names(self) -> Collection[str]:
        """Names of the brokers that have the topic, or had it."""
        return self._having.keys() | self._former.keys()

    def take(self, step: Step) -> None:
        """Follow one step."""
        if isinstance(step, CheckpointApplied):
            having = [key.broker_name for key in step.state.of if self._is_row(key)]
            self._lose(self._having.keys() - having)
            self._gain(having)
        elif isinstance(step, Began):
            self._lose(self._having)
        elif isinstance(step, Changed):
            for record in step.records:
                self._change(record)

    def _is_row(self, key: AnyKey) -> TypeGuard[TopicKey]:
        return isinstance(key, TopicKey) and key.topic == self._topic

    def _change(self, record: Record) -> None:
        if isinstance(record, TopicQueues):
            for topic, *queues in record.rows:
                if topic == self._topic:
                    (self._gain if queues else self._lose)([record.broker_name])
        elif isinstance(record, BrokerNameRemovedRecord) and record.broker_name in self._having:
            self._lose([record.broker_name])

    def _gain(self, names: Iterable[str]) -> None:
        for name in names:
            self._former.pop(name, None)
            self._having[name] = None

    def _lose(self, names: Iterable[str]) -> None:
        for name in list(names):
            self._having.pop(name, None)
            self._former.pop(name, None)
            self._former[name] = None
        while len(self._former) > self._limit:
            del self._former[next(iter(self._former))]


def steps_of_topic(steps: Iterable[Step]) -> Iterator[Step]:
    """The same steps, with the rows of topics and of broker groups alone."""
    return _only(steps, lambda key, _row: isinstance(key, TopicKey | MappingKey | GroupKey), _is_removal)


def steps_of_broker(steps: Iterable[Step], name: str) -> Iterator[Step]:
    """The same steps with the live rows of an address, or of each address from its first row with a name on.

    Args:
        steps: of one name server, in order.
        name: a broker name or an address.
    """
    its: set[AnyKey] = set()

    def keeps(key: AnyKey, row: Row | None) -> bool:
        if not isinstance(key, LiveKey):
            return False
        if name == key.broker_addr or (isinstance(row, BrokerLive) and row.broker_name == name):
            its.add(key)
        return key in its

    return _only(steps, keeps, lambda _record: False)


def is_later_part_of(at: int, step: Step, coverage: Coverage) -> bool:
    """Whether a step after a time, in wall ms, says something about that time.

    The window of a change may contain the time. A checkpoint may end the unknown period around it.

    Args:
        at: wall ms.
        step: the next one.
        coverage: before this step.
    """
    if isinstance(step, Changed):
        window_ms = step.records[0].window_ms
        return bool(window_ms) and step.ts - window_ms <= at
    if isinstance(step, CheckpointApplied):
        unknown = coverage.last_unknown
        return unknown is not None and unknown.until is None and unknown.since <= at
    return False


def _about(
    record: Record, topic: str, brokers: Container[str] | None, present: Container[AnyKey]
) -> Iterable[Record]:
    if isinstance(record, TopicQueues):
        rows = [row for row in record.rows if row[0] == topic]
        return (structs.replace(record, rows=rows),) if rows else ()
    if isinstance(record, BrokerLive):
        key = LiveKey(record.cluster, record.broker_addr)
        return (record,) if brokers is None or record.broker_name in brokers or key in present else ()
    return (record,) if isinstance(record, BrokerNameRemovedRecord) else ()


def _rows_about(
    rows: Mapping[AnyKey, Row], topic: str, brokers: Container[str] | None, present: Container[AnyKey]
) -> Iterator[tuple[AnyKey, Row]]:
    for key, row in rows.items():
        if isinstance(key, TopicKey):
            if key.topic == topic:
                yield key, row
        elif isinstance(row, BrokerLive) and (
            brokers is None or row.broker_name in brokers or key in present
        ):
            yield key, row


def _is_removal(record: Record) -> bool:
    """Whether a record ends rows that it does not name."""
    return isinstance(record, BrokerNameRemovedRecord)


def _only(steps: Iterable[Step], keeps: _Keeps, keeps_record: Callable[[Record], bool]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Changed):
            records = [
                record
                for record in step.records
                if keeps_record(record) or any(keeps(key, row) for key, row in rows_in(record))
            ]
            yield Changed(step.boot, step.seq, step.ts, records) if records else _seen(step)
        elif isinstance(step, CheckpointApplied):
            rows = Rows()
            rows.of.update((key, row) for key, row in step.state.of.items() if keeps(key, row))
            yield CheckpointApplied(step.boot, step.seq, step.ts, rows)
        else:
            yield _seen(step) if isinstance(step, Seen) else step


def _seen(step: Step) -> Seen:
    """Only that the step was there."""
    return Seen(step.boot, step.seq, step.ts, None)
