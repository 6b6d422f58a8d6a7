"""Finds the topics that name servers may disagree about: few, while a journal names all of them.

Of a topic that name servers have alike, and that changed at each of them at nearly the same times in the same
way, the rows need not be looked at. More topics may be found than name servers disagree about, but none is
left out.
"""

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from namekeeper.common.expected import TOGETHER_MS
from namekeeper.journal.contract.record import BrokerNameRemovedRecord, TopicQueues
from namekeeper.journal.reading.history import Changed, CheckpointApplied, Step

__all__ = ["TopicRowsSeen", "differing_topics"]

_topic = itemgetter(0)
_Row = tuple[Any, ...]
"""The row of a topic, as a record has it."""
_Rows = dict[str, _Row]
"""Topic -> its row."""
_Changes = list[tuple[int, Sequence[_Row]]]
"""Wall ms, and the rows that changed then."""


class TopicRowsSeen:
    """The rows of all topics of one name server, and when they became others.

    A topic whose broker name went and came back with the same row has not changed: without the broker name
    nobody compares it.

    Args:
        since: only changes after it count, wall ms.
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self.rows: dict[str, _Rows] = {}
        """Broker name -> its topics."""
        self.changes: dict[str, _Changes] = defaultdict(list)
        """Broker name -> when topics of it changed, and their rows; of one that went the topic alone."""
        self._gone: dict[str, _Rows] = {}
        """Broker name that went -> its topics until then."""

    @property
    def counts(self) -> tuple[int, int]:
        """Number of topics, and of rows."""
        topics = set[str]().union(*self.rows.values())
        return len(topics), sum(map(len, self.rows.values()))

    def take(self, step: Step) -> None:
        """Follow one step, whose checkpoints have `KeptRecords`."""
        if isinstance(step, Changed):
            for record in step.records:
                if isinstance(record, TopicQueues):
                    self._change(record.broker_name, record.rows, step.ts)
                elif isinstance(record, BrokerNameRemovedRecord):
                    self._gone[record.broker_name] = self.rows.pop(record.broker_name, {})
        elif isinstance(step, CheckpointApplied):
            self._replace(step.state, step.ts)

    def _change(self, name: str, rows: Sequence[_Row], ts: int) -> None:
        """Apply rows, each of which has changed if the broker name was there."""
        there = self.rows.get(name)
        if there is None:
            there = self.rows[name] = {}
            before = self._gone.pop(name, None)
            changed = [] if before is None else _changes(before, rows)
        else:
            changed = rows
        if changed and ts > self._since:
            self.changes[name].append((ts, changed))
        there.update(zip(map(_topic, rows), rows, strict=True))
        if rows and min(map(len, rows)) == 1:
            for row in rows:
                if len(row) == 1:
                    del there[row[0]]

    def _replace(self, state: Any, ts: int) -> None:  # noqa: ANN401 - `KeptRecords`
        of_name: dict[str, list[_Row]] = defaultdict(list)
        for record in state.records:
            if isinstance(record, TopicQueues):
                of_name[record.broker_name] += record.rows
        for name in [name for name in self.rows if name not in of_name]:
            self._gone[name] = self.rows.pop(name)
        for name, rows in of_name.items():
            there = self.rows.get(name)
            self._change(name, rows if there is None else _changes(there, rows), ts)


def _changes(before: _Rows, rows: Sequence[_Row]) -> Sequence[_Row]:
    """The rows that differ from those of before, when all rows of a broker name are these."""
    if len(before) == len(rows) and [*map(before.get, map(_topic, rows))] == rows:
        return ()
    shown = set(map(_topic, rows))
    return [
        *(row for row in rows if before.get(row[0]) != row),
        *((topic,) for topic in before if topic not in shown),
    ]


def differing_topics(every: Sequence[TopicRowsSeen]) -> set[str]:
    """The topics that some name servers may have had otherwise than others."""
    found: set[str] = set()
    for name in set[str]().union(*(each.rows for each in every)):
        holding = [each for each in every if name in each.rows]
        first = holding[0]
        for other in holding[1:]:
            found |= _differing(first.rows[name], other.rows[name])
            found |= _changed_otherwise(first.changes.get(name, []), other.changes.get(name, []))
    return found


def _differing(one: _Rows, other: _Rows) -> set[str]:
    if one == other:
        return set()
    return {topic for topic in one.keys() | other.keys() if one.get(topic) != other.get(topic)}


def _changed_otherwise(one: _Changes, other: _Changes) -> set[str]:
    """The topics that did not change at nearly the same times in the same way."""
    if _are_alike(one, other):  # the usual case, in which no topic needs a look
        return set()
    of_topic, of_other = _by_topic(one), _by_topic(other)
    return {
        topic
        for topic in of_topic.keys() | of_other.keys()
        if not _are_alike(of_topic.get(topic, []), of_other.get(topic, []))
    }


def _by_topic(changes: _Changes) -> dict[str, _Changes]:
    found: dict[str, _Changes] = defaultdict(list)
    for ts, rows in changes:
        for row in rows:
            found[row[0]].append((ts, [row]))
    return found


def _are_alike(one: _Changes, other: _Changes) -> bool:
    return len(one) == len(other) and all(
        abs(at - then) < TOGETHER_MS and rows == same
        for (at, rows), (then, same) in zip(one, other, strict=True)
    )
