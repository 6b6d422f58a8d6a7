"""Numbers changes and queues them; a change without room is dropped, and its numbers show the loss."""

from collections.abc import Callable, Iterable
from functools import partial

from namekeeper.journal.contract.encode import Stamp, encode_change, encode_record, records_of
from namekeeper.journal.contract.record import Record
from namekeeper.journal.queue.backlog import Backlog, Entry, Mark
from namekeeper.journal.recording.timeline import ChangeTime
from namekeeper.journal.recording.weight import weight_of_change, weight_of_record, without_spare_rows
from namekeeper.route.events import Cause, Change

__all__ = ["Sequencer"]

_FIRST_BYTES = 1_000


class Sequencer:
    """Gives each record its seq; used on the event loop only."""

    def __init__(self, backlog: Backlog) -> None:
        self.boots = 0
        """How often the numbers started again at 1."""
        self.last_seq = 0
        self.last_ts = 0
        """Wall ms of the newest record."""
        self.dropped_changes = 0
        self.dropped_records = 0
        self.holes = 0
        """Number of losses. If it grows during a checkpoint, that checkpoint is incomplete."""
        self._backlog = backlog

    def begin(self, make_first: Callable[[], Record], time: ChangeTime) -> None:
        """Begin at seq 1; the writer calls `make_first` when it knows the folder."""
        self.boots += 1
        self.last_seq = 0
        self._put(1, lambda stamp: _encode_one(make_first(), 0, stamp), time, _FIRST_BYTES, must=True)

    def change(self, change: Change, time: ChangeTime) -> None:
        """Queue a change, if it has events of state.

        Restored routes are queued even without room: the next restart needs them. Their tables are those that
        the server serves from, so they take no memory of their own.
        """
        records = records_of(change)
        if records:
            kept = without_spare_rows(change)
            must = change.cause is Cause.RESTORED
            weight = _FIRST_BYTES if must else weight_of_change(kept)
            self._put(records, partial(encode_change, kept), time, weight, must=must)

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
            record: About the server, its activity or a checkpoint.
            time: Its time.
            checkpoint: The seq of `checkpoint_begin` for a row or the end of a checkpoint, else 0.
            mark: Tells the writer that a checkpoint begins or ends here.
            must: Queue it even if there is no room.
        """
        encode = partial(_encode_one, record, checkpoint)
        self._put(1, encode, time, weight_of_record(record), mark=mark, must=must)

    def lose(self, changes: int) -> None:
        """Skip a number for each change that was not kept: each had at least one record."""
        self.last_seq += changes
        self.dropped_changes += changes
        self.dropped_records += changes
        self.holes += 1

    def note_hole(self) -> None:
        """Note that a queued record is lost."""
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
        self.last_ts = time.ts
        self.last_seq += records
        if not self._backlog.put(entry, must=must):
            self.dropped_changes += 1
            self.dropped_records += records
            self.holes += 1


def _encode_one(record: Record, checkpoint: int, stamp: Stamp) -> Iterable[bytes]:
    return (encode_record(record, stamp, checkpoint=checkpoint),)
