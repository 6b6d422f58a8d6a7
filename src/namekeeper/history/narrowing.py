"""Steps without the rows that are not about a topic or the sessions of brokers."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from typing import Any, TypeGuard

from msgspec import structs

from namekeeper.history.rows import AnyKey, LiveKey, Row, Rows, TopicKey
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    BrokerNameRemovedRecord,
    Record,
    TopicMapping,
    TopicQueues,
    TopicQueuesRow,
)
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Seen, Step

__all__ = ["BrokersOfTopic", "is_later_part_of", "narrowed", "steps_of_broker", "steps_of_topic"]

_PartOf = Callable[[Any], Any]
"""The part of a record, or of a row of a checkpoint, that counts; None: nothing of it does."""


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

    def part_of(found: Record | Row) -> Record | Row | None:
        if isinstance(found, TopicQueues):
            rows = [row for row in found.rows if row[0] == topic]
            return structs.replace(found, rows=rows) if rows else None
        if isinstance(found, TopicQueuesRow):
            counts = found.topic == topic
        elif isinstance(found, BrokerLive):
            counts = brokers is None or found.broker_name in brokers or _key_of(found) in present
        else:
            counts = isinstance(found, BrokerNameRemovedRecord)
        return found if counts else None

    return _only(step, part_of)


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
    return (
        _only(step, lambda found: found if isinstance(found, _OF_TOPICS) else None) for step in _bare(steps)
    )


def steps_of_broker(steps: Iterable[Step], name: str) -> Iterator[Step]:
    """The same steps with the live rows of an address, or of each address from its first row with a name on.

    Args:
        steps: of one name server, in order.
        name: a broker name or an address.
    """
    its: set[AnyKey] = set()

    def part_of(found: Record | Row) -> Record | Row | None:
        if not isinstance(found, BrokerLive):
            return None
        key = _key_of(found)
        if name == key.broker_addr or (not found.gone and found.broker_name == name):
            its.add(key)
        return found if key in its else None

    return (_only(step, part_of) for step in _bare(steps))


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


_OF_TOPICS = (TopicQueues, TopicQueuesRow, TopicMapping, BrokerGroup, BrokerNameRemovedRecord)


def _bare(steps: Iterable[Step]) -> Iterator[Step]:
    """The same steps; of those that change no row only that they were there."""
    return (Seen(step.boot, step.seq, step.ts, None) if isinstance(step, Seen) else step for step in steps)


def _key_of(record: BrokerLive) -> LiveKey:
    return LiveKey(record.cluster, record.broker_addr)


def _only(step: Step, part_of: _PartOf) -> Step:
    if isinstance(step, Changed):
        records = [part for record in step.records if (part := part_of(record)) is not None]
        position = step.boot, step.seq, step.ts
        return Changed(*position, records) if records else Seen(*position, None)
    if isinstance(step, CheckpointApplied):
        rows = Rows()
        rows.of.update((key, row) for key, row in step.state.of.items() if part_of(row) is not None)
        return structs.replace(step, state=rows)
    return step
