"""A checkpoint that has begun: its rows so far, until its end says how many there should be."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from namekeeper.journal.contract.record import CheckpointBegin, CheckpointEnd, Envelope, Record, TopicQueues

__all__ = ["CheckpointRows", "OpenCheckpoint"]


class CheckpointRows(Protocol):
    """The rows of a checkpoint, in the form that a reader wants: `State`, or `Rows` of a history."""

    def apply(self, records: Iterable[Record], /) -> None:
        """Apply records."""
        ...


class OpenCheckpoint:
    """A checkpoint that has begun.

    Args:
        begin: its first record.
        state: gets its rows; empty.
    """

    def __init__(self, begin: CheckpointBegin, state: CheckpointRows) -> None:
        self.begin = begin
        self.state = state
        self.is_skipped = False
        """Whether rows were skipped, because they say what is known."""
        self._counts: Counter[str] = Counter()
        self._rows: list[Record] = []

    def add(self, record: Record | Envelope) -> None:
        """Add a row; adjacent topic rows of one broker name are applied together."""
        self._counts[record.kind] += 1
        if isinstance(record, Envelope):
            return
        if self._rows and not _are_of_one_name(self._rows[-1], record):
            self._apply()
        self._rows.append(record)

    def skip(self, rows: Mapping[str, int]) -> None:
        """Count rows that are skipped."""
        self._counts.update(rows)
        self.is_skipped = True

    def is_completed_by(self, record: CheckpointEnd) -> bool:
        """Whether the rows are as many as its end says."""
        self._apply()
        return dict(record.counts) == self._counts

    def _apply(self) -> None:
        self.state.apply(self._rows)
        self._rows.clear()


def _are_of_one_name(one: Record, other: Record) -> bool:
    return (
        isinstance(one, TopicQueues)
        and isinstance(other, TopicQueues)
        and one.broker_name == other.broker_name
    )
