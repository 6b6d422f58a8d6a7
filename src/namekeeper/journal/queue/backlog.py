"""A bounded queue from the event loop to the writer's thread, without a lock.

An entry refers to immutable values, which the writer encodes. The loop only adds and the writer only takes,
so one thread alone changes each of the two counters.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum

from msgspec import Struct

from namekeeper.journal.contract.encode import Stamp

__all__ = ["Backlog", "Entry", "Mark"]


class Mark(Enum):
    """Tells the writer that a checkpoint begins or ends with an entry."""

    NONE = ""
    CHECKPOINT_BEGIN = "begin"
    CHECKPOINT_END = "end"


class Entry(Struct, frozen=True):
    """One change, or one record that is a change of its own, with its position and time."""

    seq: int
    """Seq of its first record."""
    records: int
    ts: int
    up_ms: int
    weight: int
    """Bytes of memory that it holds, estimated."""
    encode: Callable[[Stamp], Iterable[bytes]]
    """Makes its lines; called by the writer."""
    mark: Mark = Mark.NONE

    @property
    def last_seq(self) -> int:
        """Seq of the last record of the entry."""
        return self.seq + self.records - 1


class Backlog:
    """Entries in order; `put` refuses an entry when there is no room for it."""

    def __init__(self, limit_bytes: int) -> None:
        self._entries: deque[Entry] = deque()
        self.limit = limit_bytes
        self._added = 0
        self._taken = 0
        self._wake_up = threading.Event()

    def __len__(self) -> int:
        """Number of queued entries."""
        return len(self._entries)

    @property
    def weight(self) -> int:
        """Bytes of memory held by entries that are queued or being written, estimated."""
        return self._added - self._taken

    @property
    def is_filling(self) -> bool:
        """Whether more than three quarters of the limit are used."""
        return self.weight > self.limit * 3 // 4

    def put(self, entry: Entry, *, must: bool = False) -> bool:
        """Queue an entry if there is room or `must` is set; returns whether it was queued."""
        if not must and self.weight + entry.weight > self.limit:
            return False
        self._added += entry.weight
        self._entries.append(entry)
        if not self._wake_up.is_set():
            self._wake_up.set()
        return True

    def take(self) -> Entry | None:
        """Take the oldest entry, None if there is none; call `done` when it is written."""
        try:
            return self._entries.popleft()
        except IndexError:
            return None

    def first(self) -> Entry | None:
        """The oldest entry, which stays queued; None if there is none."""
        try:
            return self._entries[0]
        except IndexError:
            return None

    def done(self, weight: int) -> None:
        """Release the memory of entries that were written or lost, `weight` in all."""
        self._taken += weight

    def wait(self, seconds: float) -> None:
        """Block until an entry is put or `wake` is called, at most this long."""
        self._wake_up.wait(seconds)
        self._wake_up.clear()

    def wake(self) -> None:
        """End a wait."""
        self._wake_up.set()
