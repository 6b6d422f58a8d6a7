"""Where changes get their numbers and enter the queue, or are dropped whole, which the numbers show."""

from collections.abc import Callable, Iterable
from functools import partial

from namekeeper.journal.contract.encode import Stamp, encode_change, encode_record, records_of
from namekeeper.journal.contract.record import Kv, LookupHour, Record, TopicQueues
from namekeeper.journal.queue.backlog import Backlog, Entry, Mark
from namekeeper.journal.recording.timeline import ChangeTime
from namekeeper.route.events import BrokerNameRemoved, Change, TopicQueuesChanged

__all__ = ["Sequencer"]

_CHANGE_BYTES = 1_000
_TABLE_ROW_BYTES = 64
"""Memory of a topic row in a table that is kept alive; the row itself is shared."""
_RECORD_ROW_BYTES = 120
"""The same in a record that was made of it."""


class Sequencer:
    """Touched from the event loop only."""

    def __init__(self, backlog: Backlog) -> None:
        self.last_seq = 0
        self.dropped_changes = 0
        self.dropped_records = 0
        self.holes = 0
        """Counts drops: a checkpoint with one in it is not complete."""
        self._backlog = backlog

    def begin(self, make_first: Callable[[], Record], instant: ChangeTime) -> None:
        """Number from 1; the writer makes the first record when it knows the folder."""
        self.last_seq = 0
        self._put(1, lambda stamp: _encode_one(make_first(), 0, stamp), instant, _CHANGE_BYTES, must=True)

    def change(self, change: Change, instant: ChangeTime) -> None:
        """Queue a change, if it is one of state."""
        records = records_of(change)
        if records:
            self._put(records, partial(encode_change, change), instant, _weight_of_change(change))

    def record(
        self,
        record: Record,
        instant: ChangeTime,
        *,
        checkpoint: int = 0,
        mark: Mark = Mark.NONE,
        must: bool = False,
    ) -> None:
        """Queue a record that is a change of its own.

        Args:
            record: It.
            instant: Its time.
            checkpoint: If it belongs to a checkpoint, the seq of its begin.
            mark: What the writer must know of it.
            must: Queue it even if there is no room.
        """
        encode = partial(_encode_one, record, checkpoint)
        self._put(1, encode, instant, _weight_of_record(record), mark=mark, must=must)

    def note_hole(self) -> None:
        """Something that was queued is lost."""
        self.holes += 1

    def _put(
        self,
        records: int,
        encode: Callable[[Stamp], Iterable[bytes]],
        instant: ChangeTime,
        weight: int,
        *,
        mark: Mark = Mark.NONE,
        must: bool = False,
    ) -> None:
        entry = Entry(self.last_seq + 1, records, instant.ts, instant.up_ms, weight, encode, mark)
        self.last_seq += records
        if not self._backlog.put(entry, must=must):
            self.dropped_changes += 1
            self.dropped_records += records
            self.holes += 1


def _encode_one(record: Record, checkpoint: int, stamp: Stamp) -> Iterable[bytes]:
    return (encode_record(record, stamp, checkpoint=checkpoint),)


def _weight_of_change(change: Change) -> int:
    weight = _CHANGE_BYTES
    for event in change.events:
        if type(event) is TopicQueuesChanged:
            weight += _TABLE_ROW_BYTES * len(event.after)
        elif type(event) is BrokerNameRemoved:
            weight += _TABLE_ROW_BYTES * len(event.before)
    return weight


def _weight_of_record(record: Record) -> int:
    if isinstance(record, TopicQueues):
        return _CHANGE_BYTES + _RECORD_ROW_BYTES * len(record.rows)
    if isinstance(record, LookupHour):
        return _CHANGE_BYTES + _RECORD_ROW_BYTES * len(record.lookups)
    if isinstance(record, Kv):
        return _CHANGE_BYTES + len(record.value)
    return _CHANGE_BYTES
