"""Answers that peers have not read, over all connections.

Large answers are made only while there is room. Small ones are made at once; when they add up, who has read
nothing for longest is disconnected.
"""

from collections.abc import Callable, Collection, Sized
from time import monotonic
from typing import Protocol

from namekeeper.wire.codes import RequestCode

__all__ = ["LARGE_ANSWERS", "QUEUED_BYTES", "ROOM_LOOK_SECONDS", "UnreadAnswers"]

LARGE_ANSWERS = frozenset(
    {
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    }
)
"""Requests whose answers may have megabytes and are made at once: they wait until there is room."""
ROOM_LOOK_SECONDS = 0.05
"""How often whoever waits looks for room."""
MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Beyond the high water mark of each connection. One answer more may be under way."""
MAX_SHARE = 2
"""What is not read may be that many times as much, look-ups included."""
QUEUED_BYTES = 600
"""A request of some 80 bytes that waits, or the answer to it from the cache."""
STALL_SECONDS = 5.0
"""While there is no room, who has read nothing for so long is disconnected."""


class Holder(Protocol):
    """A connection."""

    def abort(self) -> None:
        """Close at once."""
        ...


class UnreadAnswers:
    """What connections hold whose peers are slow to read; touched from one event loop only."""

    def __init__(self, limit: int = MAX_UNREAD_BYTES, clock: Callable[[], float] = monotonic) -> None:
        """Begin with nothing; `clock` counts seconds."""
        self._limit = limit
        self._clock = clock
        self._held: dict[Holder, tuple[Callable[[], int], int, float]] = {}
        """Connection -> how to measure its bytes, how many there were, and since when nothing was read."""

    @property
    def bytes(self) -> int:
        """What is held, as of the last look."""
        return sum(size for _, size, _ in self._held.values())

    def keep(
        self,
        holder: Holder,
        written: Callable[[], int],
        queued: Sized = (),
        waiting: Collection[Sized] = (),
    ) -> None:
        """Note that a peer is slow to read; beyond the limit of all, disconnect the slowest.

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
        """Note that its peer has read, or that it is closed."""
        self._held.pop(holder, None)

    def has_room(self) -> bool:
        """Whether one more large answer may be made; disconnects who has kept the room for too long."""
        if self.bytes < self._limit:
            return True
        now = self._clock()
        self._look()
        for holder, (_, _, since) in list(self._held.items()):
            if now - since >= STALL_SECONDS:
                self._disconnect(holder)
        return self.bytes < self._limit

    def _look(self) -> None:
        """Note what was read since the last look."""
        now = self._clock()
        for holder, (measure, size, since) in self._held.items():
            unread = measure()
            self._held[holder] = (measure, unread, now if unread < size else since)

    def _disconnect(self, holder: Holder) -> None:
        self.let_go(holder)
        holder.abort()
