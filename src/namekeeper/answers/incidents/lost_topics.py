"""Finds the topics of one name server that incidents are about: few, while a journal names all of them.

Incidents need the rows of a topic only if no master had a queue of it to write to at some time, or if a
permission of it was wiped. More topics may be found than that, but none is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from operator import itemgetter
from typing import Any

from msgspec.structs import astuple

from namekeeper.common.expected import WITNESS_AFTER_MS
from namekeeper.common.writable import is_writable
from namekeeper.history.rows import LiveKey, Rows, TopicKey
from namekeeper.journal.contract.record import (
    BrokerLive,
    BrokerNameRemovedRecord,
    Record,
    TopicQueues,
)
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Step, Stopped
from namekeeper.route.events import Cause

__all__ = ["KeptRecords", "TopicFinder", "topics_of_incidents"]


class KeptRecords:
    """The records of a checkpoint, as they are."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def apply(self, records: Iterable[Record]) -> None:
        """Keep records."""
        self.records.extend(records)


class TopicFinder:
    """Follows the steps of one name server, whose checkpoints have `KeptRecords` or `Rows`."""

    def __init__(self) -> None:
        self.lost: set[str] = set()
        """Topics that no master had a queue of to write to at some time."""
        self.held: set[str] = set()
        """Topics that it ever had a queue of to write to."""
        self.late: set[str] = set()
        """Topics that it had later, but not at first."""
        self.was_away = False
        """Whether its state was not known at some time, or it was stopped."""
        self.up_to = 0
        self.last = (0, 0)
        """Position of the last step."""
        self.knows_from: int | None = None
        self._writable: dict[str, set[str]] = {}
        """Broker name -> topics with a queue that can be written to."""
        self._masters: dict[LiveKey, str] = {}
        self._master_count: Counter[str] = Counter()
        """Broker name -> number of its masters."""
        self._open: Counter[str] = Counter()
        """Topic -> broker names with a master and such a queue."""
        self._pending: set[str] = set()
        """Topics that it had before it was away."""
        self._deadline: int | None = None
        """When it is a witness for all topics, wall ms."""

    @property
    def topics(self) -> int:
        """How many topics can be written to now."""
        return sum(map(bool, self._open.values()))

    def take(self, step: Step) -> None:
        """Follow one step."""
        self.up_to = step.ts
        self.last = max(self.last, (step.boot, step.seq))
        if self._deadline is not None and step.ts >= self._deadline:
            self._settle()
        match step:
            case Changed():
                self._change(step.records)
            case CheckpointApplied():
                self._replace(step)
            case Began():
                self._leave()
                self._writable, self._masters, self._open, self._master_count = {}, {}, Counter(), Counter()
                self._deadline = step.ts + WITNESS_AFTER_MS
            case Lost() | Stopped():
                self._leave()
            case _:
                pass

    @property
    def names(self) -> int:
        """How many names it holds, as a measure of its memory."""
        return sum(map(len, (self.lost, self.held, self.late, self._open, self._pending)))

    def keep(self, topics: Container[str]) -> None:
        """Forget the topics that are not among these, and that nobody has now.

        Of a topic whose rows a history has dropped there are no incidents. A peer may send ever new topics.
        """
        self._open = Counter({topic: count for topic, count in self._open.items() if count})
        for names in (self.lost, self.held, self.late, self._pending):
            names.difference_update([name for name in names if name not in topics and name not in self._open])

    def finish(self) -> None:
        """Follow the end."""
        self._settle()

    def _leave(self) -> None:
        self.was_away = True
        self._pending.update(topic for topic, count in self._open.items() if count)

    def _settle(self) -> None:
        self.lost.update(topic for topic in self._pending if not self._open[topic])
        self._pending, self._deadline = set(), None

    def _replace(self, step: CheckpointApplied) -> None:
        """Replace everything by the rows of a checkpoint."""
        before = {topic for topic, count in self._open.items() if count}
        is_first = self.knows_from is None
        self.knows_from = step.ts if self.knows_from is None else self.knows_from
        self._writable, self._masters, self._open, self._master_count = {}, {}, Counter(), Counter()
        late = set(self.late)
        self._change(_records_in(step.state))
        if is_first:
            self.late = late
        self.lost.update(topic for topic in before if not self._open[topic])
        if self._deadline is None:
            self._settle()

    def _change(self, records: Sequence[Record]) -> None:
        """Apply all records of a change, and then look at the topics that they touched."""
        touched: set[str] = set()
        for record in records:
            if isinstance(record, TopicQueues):
                self._change_topics(record, touched)
            elif isinstance(record, BrokerLive):
                self._change_broker(record, touched)
            elif isinstance(record, BrokerNameRemovedRecord):
                self._drop(record.broker_name, self._writable.pop(record.broker_name, set()), touched)
        self.lost.update(topic for topic in touched if not self._open[topic])

    def _change_topics(self, record: TopicQueues, touched: set[str]) -> None:
        name, rows = record.broker_name, record.rows
        there = self._writable.setdefault(name, set())
        good = _writable(rows)
        if len(good) < len(rows):
            others = {row[0] for row in rows} - good
            gone = others & there
            there -= gone
            self._drop(name, gone, touched)
            touched |= others
        if record.cause == Cause.WIPE_WRITE_PERM:
            self.lost.update(row[0] for row in rows)
        new = good - there
        if new:
            there |= new
            self.late |= new - self.held
            self.held |= new
            if self._has_master(name):
                self._open.update(new)
            else:
                touched |= new

    def _change_broker(self, record: BrokerLive, touched: set[str]) -> None:
        key = LiveKey(record.cluster, record.broker_addr)
        before = self._masters.get(key)
        after = None if record.gone or record.broker_id else record.broker_name
        if before == after:
            return
        if before is not None:
            del self._masters[key]
            self._master_count[before] -= 1
            if not self._has_master(before):
                self._open.subtract(self._writable.get(before, ()))
                touched |= self._writable.get(before, set())
        if after is not None:
            if not self._has_master(after):
                self._open.update(self._writable.get(after, ()))
            self._masters[key] = after
            self._master_count[after] += 1

    def _drop(self, name: str, topics: set[str], touched: set[str]) -> None:
        if self._has_master(name):
            self._open.subtract(topics)
        touched |= topics

    def _has_master(self, name: str) -> bool:
        return self._master_count[name] > 0


def _records_in(state: KeptRecords | Rows) -> Sequence[Record]:
    if isinstance(state, KeptRecords):
        return state.records
    found: list[Record] = [row for row in state.of.values() if isinstance(row, BrokerLive)]
    of_name: dict[str, list[Any]] = defaultdict(list)
    for key, row in state.of.items():
        if isinstance(key, TopicKey):
            of_name[key.broker_name].append(astuple(row))
    found += [TopicQueues(broker_name=name, rows=rows) for name, rows in of_name.items()]
    return found


_first, _write_and_perm = itemgetter(0), itemgetter(2, 3)


def _writable(rows: Sequence[Sequence[Any]]) -> set[str]:
    """The topics of rows that can be written to, if there is a master."""
    try:
        kinds = set(map(_write_and_perm, rows))
    except IndexError:  # some rows are gone
        return _writable([row for row in rows if len(row) > 1])
    good = {(queues, perm) for queues, perm in kinds if is_writable(perm, queues, has_master=True)}
    if good == kinds:
        return set(map(_first, rows))  # the usual case, in which no row needs a look
    return {row[0] for row in rows if (row[2], row[3]) in good}


def topics_of_incidents(every: Sequence[TopicFinder], horizon: int) -> set[str]:
    """The topics that incidents are about.

    A name server that never had a topic misses it while each one that had it is away.

    Args:
        every: of all name servers.
        horizon: the last instant that is known, wall ms.
    """
    found = set[str]().union(*(each.lost for each in every))
    for one in every:
        if one.was_away or one.up_to < horizon:
            for other in every:
                if other is not one:
                    found |= (one.held - other.held) | (one.held & other.late)
    return found
