"""Answers that peers have not read, over all connections.

Large answers are made only while there is room. Small answers are made at once; if they add up to too much,
the connection whose peer has not read for the longest time is closed.
"""

from collections.abc import Callable, Collection, Sized
from time import monotonic
from typing import Protocol

from namekeeper.wire.codes import RequestCode

__all__ = ["LARGE_ANSWERS", "QUEUED_BYTES", "ROOM_LOOK_SECONDS", "UnreadAnswers"]

LARGE_ANSWERS = frozenset(
    {
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    }
)
"""Requests with answers of up to megabytes, made in one piece: they wait until there is room."""
ROOM_LOOK_SECONDS = 0.05
"""Interval at which waiting requests look for room."""
MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Limit of unread bytes beyond each connection's high water mark. One more answer may be under way."""
MAX_SHARE = 2
"""Together with look-ups, unread answers may be this many times the limit."""
QUEUED_BYTES = 600
"""Memory of a waiting request of some 80 bytes, or of its answer from the cache."""
STALL_SECONDS = 5.0
"""While there is no room, a connection whose peer has read nothing for this long is closed."""


class Holder(Protocol):
    """A connection with answers that its peer has not read."""

    def abort(self) -> None:
        """Close at once."""
        ...


class UnreadAnswers:
    """Bytes held by connections whose peers are slow to read; used on one event loop only."""

    def __init__(self, limit: int = MAX_UNREAD_BYTES, clock: Callable[[], float] = monotonic) -> None:
        """Begin with nothing; `clock` counts seconds."""
        self._limit = limit
        self._clock = clock
        self._held: dict[Holder, tuple[Callable[[], int], int, float]] = {}
        """Connection -> how to measure its bytes, how many there were, and since when nothing was read."""

    @property
    def bytes(self) -> int:
        """Bytes held, as measured last."""
        return sum(size for _, size, _ in self._held.values())

    def keep(
        self,
        holder: Holder,
        written: Callable[[], int],
        queued: Sized = (),
        waiting: Collection[Sized] = (),
    ) -> None:
        """Note that a peer is slow to read; if the total limit is exceeded, disconnect the slowest.

        Args:
            holder: its connection.
            written: gives the bytes that were written and not read.
            queued: requests of the same read that wait, and answers from the cache.
            waiting: bytes of it that wait, in pieces.
        """

        def measure() -> int:
            return written() + QUEUED_BYTES * len(queued) + sum(map(len, waiting))

        self._held[holder] = (measure, measure(), self._clock())
        if self.bytes > MAX_SHARE * self._limit:
            self._look()
        while self.bytes > MAX_SHARE * self._limit:
            self._disconnect(min(self._held, key=lambda each: self._held[each][2]))

    def let_go(self, holder: Holder) -> None:
        """Note that its peer has read everything, or that it is closed."""
        self._held.pop(holder, None)

    def has_room(self) -> bool:
        """Whether one more large answer may be made; disconnects peers that read nothing for too long."""
        if self.bytes < self._limit:
            return True
        now = self._clock()
        self._look()
        for holder, (_, _, since) in list(self._held.items()):
            if now - since >= STALL_SECONDS:
                self._disconnect(holder)
        return self.bytes < self._limit

    def _look(self) -> None:
        """Measure again, and note which peers have read."""
        now = self._clock()
        for holder, (measure, size, since) in self._held.items():
            unread = measure()
            self._held[holder] = (measure, unread, now if unread < size else since)

    def _disconnect(self, holder: Holder) -> None:
        self.let_go(holder)
        holder.abort()
