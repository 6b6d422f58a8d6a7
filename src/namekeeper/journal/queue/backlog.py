"""What waits for the disk: a bounded queue from the event loop to the writer's thread, without a lock.

Entries hold references to immutable values, not encoded rows; they are encoded by the writer. The loop only
adds and the writer only takes, so each of the two counters has one thread that changes it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum

from msgspec import Struct

from namekeeper.journal.contract.encode import Stamp

__all__ = ["Backlog", "Entry", "Mark"]


class Mark(Enum):
    """What the writer must know of an entry."""

    NONE = ""
    CHECKPOINT_BEGIN = "begin"
    CHECKPOINT_END = "end"


class Entry(Struct, frozen=True):
    """One change, or one record that is a change of its own, with its place and time."""

    seq: int
    """Of its first record."""
    records: int
    ts: int
    up_ms: int
    weight: int
    """Memory that it holds, about, in bytes."""
    encode: Callable[[Stamp], Iterable[bytes]]
    """Makes its lines; called by the writer."""
    mark: Mark = Mark.NONE

    @property
    def last_seq(self) -> int:
        """Of its last record."""
        return self.seq + self.records - 1


class Backlog:
    """Entries in order; `put` refuses what there is no room for."""

    def __init__(self, limit_bytes: int) -> None:
        self._entries: deque[Entry] = deque()
        self.limit = limit_bytes
        self._added = 0
        self._taken = 0
        self._is_awaited = threading.Event()

    def __len__(self) -> int:
        """Entries that wait."""
        return len(self._entries)

    @property
    def weight(self) -> int:
        """Memory that entries hold which wait or are being written, about, in bytes."""
        return self._added - self._taken

    @property
    def is_filling(self) -> bool:
        """Whether more than three quarters of the room are taken."""
        return self.weight > self.limit * 3 // 4

    def put(self, entry: Entry, *, must: bool = False) -> bool:
        """Queue an entry if there is room, or it must be; says whether it was."""
        if not must and self.weight + entry.weight > self.limit:
            return False
        self._added += entry.weight
        self._entries.append(entry)
        if not self._is_awaited.is_set():
            self._is_awaited.set()
        return True

    def take(self) -> Entry | None:
        """Take the oldest entry; say `done` when it is written."""
        try:
            return self._entries.popleft()
        except IndexError:
            return None

    def first(self) -> Entry | None:
        """The oldest entry, which stays."""
        try:
            return self._entries[0]
        except IndexError:
            return None

    def done(self, weight: int) -> None:
        """Entries of this weight are written, or lost."""
        self._taken += weight

    def wait(self, seconds: float) -> None:
        """Wait until something was put, at most so long."""
        self._is_awaited.wait(seconds)
        self._is_awaited.clear()

    def wake(self) -> None:
        """End a wait."""
        self._is_awaited.set()
