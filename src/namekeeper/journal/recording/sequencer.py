"""Numbers changes and queues them; a change without room is dropped, and its numbers show the loss."""

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
"""Memory of a topic row in a table that the entry keeps alive; the row itself is shared."""
_RECORD_ROW_BYTES = 120
"""Memory of a topic row in a record."""


class Sequencer:
    """Gives each record its seq; used on the event loop only."""

    def __init__(self, backlog: Backlog) -> None:
        self.last_seq = 0
        self.dropped_changes = 0
        self.dropped_records = 0
        self.holes = 0
        """How often something was lost: a checkpoint during which this rises is not complete."""
        self._backlog = backlog

    def begin(self, make_first: Callable[[], Record], time: ChangeTime) -> None:
        """Begin at seq 1; the writer calls `make_first` when it knows the folder."""
        self.last_seq = 0
        self._put(1, lambda stamp: _encode_one(make_first(), 0, stamp), time, _CHANGE_BYTES, must=True)

    def change(self, change: Change, time: ChangeTime) -> None:
        """Queue a change, if it has events of state."""
        records = records_of(change)
        if records:
            self._put(records, partial(encode_change, change), time, _weight_of_change(change))

    def record(
        self,
        record: Record,
        time: ChangeTime,
        *,
        checkpoint: int = 0,
        mark: Mark = Mark.NONE,
        must: bool = False,
    ) -> None:
        """Queue a record that is a change of its own.

        Args:
            record: The record.
            time: Its time.
            checkpoint: The seq of `checkpoint_begin` for a row or the end of a checkpoint, else 0.
            mark: Tells the writer that a checkpoint begins or ends here.
            must: Queue it even if there is no room.
        """
        encode = partial(_encode_one, record, checkpoint)
        self._put(1, encode, time, _weight_of_record(record), mark=mark, must=must)

    def note_hole(self) -> None:
        """Note that something that was queued is lost."""
        self.holes += 1

    def _put(
        self,
        records: int,
        encode: Callable[[Stamp], Iterable[bytes]],
        time: ChangeTime,
        weight: int,
        *,
        mark: Mark = Mark.NONE,
        must: bool = False,
    ) -> None:
        entry = Entry(self.last_seq + 1, records, time.ts, time.up_ms, weight, encode, mark)
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
