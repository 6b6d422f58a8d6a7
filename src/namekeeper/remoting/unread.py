"""Answers that peers have not read, over all connections.

Large answers are made only while there is room. Small answers are made at once; if they add up to too much,
the connection whose peer has not read for the longest time is closed. An answer counts whole until its last
byte is written, because the transport keeps it whole.
"""

from collections.abc import Callable, Collection, Sized
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from namekeeper.wire.codes import RequestCode

__all__ = ["LARGE_ANSWERS", "LISTS", "QUEUED_BYTES", "ROOM_LOOK_SECONDS", "UnreadAnswers"]

LARGE_ANSWERS = frozenset(
    {
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    }
)
"""Requests with answers of up to megabytes, made in one piece: they wait until there is room."""
LISTS = frozenset(
    {
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    }
)
"""Requests with answers of up to megabytes, made in slices and given out when there is room: a connection has
one of them at a time."""
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


@dataclass(slots=True)
class _Held:
    """What one connection holds."""

    measure: Callable[[], int]
    """Gives the bytes that are not read yet."""
    unread: int
    """The same, when it was measured last."""
    most: int
    """The most of it so far. The transport keeps an answer whole until its last byte is written."""
    since: float
    """When something was read last."""


class UnreadAnswers:
    """Bytes held by connections whose peers are slow to read; used on one event loop only."""

    def __init__(self, limit: int = MAX_UNREAD_BYTES, clock: Callable[[], float] = monotonic) -> None:
        """Begin with nothing; `clock` counts seconds."""
        self._limit = limit
        self._clock = clock
        self._held: dict[Holder, _Held] = {}
        self.bytes = 0
        """Bytes held: of each connection the most since its peer has read everything."""

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

        self.let_go(holder)
        size = measure()
        self._held[holder] = _Held(measure, size, size, self._clock())
        self.bytes += size
        self._enforce()

    def add(self, holder: Holder) -> None:
        """Note that one more answer was written to a peer that is slow to read."""
        held = self._held.get(holder)
        if held is not None:
            self._measure(held, self._clock())
            self._enforce()

    def let_go(self, holder: Holder) -> None:
        """Note that its peer has read everything, or that it is closed."""
        held = self._held.pop(holder, None)
        if held is not None:
            self.bytes -= held.most

    def has_room(self) -> bool:
        """Whether one more large answer may be made; disconnects peers that read nothing for too long."""
        if self.bytes < self._limit:
            return True
        now = self._clock()
        self._look()
        for holder, held in list(self._held.items()):
            if now - held.since >= STALL_SECONDS:
                self._disconnect(holder)
        return self.bytes < self._limit

    def _enforce(self) -> None:
        if self.bytes > MAX_SHARE * self._limit:
            self._look()
        while self.bytes > MAX_SHARE * self._limit:
            self._disconnect(min(self._held, key=lambda each: self._held[each].since))

    def _look(self) -> None:
        """Measure again, and note which peers have read."""
        now = self._clock()
        for held in self._held.values():
            self._measure(held, now)

    def _measure(self, held: _Held, now: float) -> None:
        unread = held.measure()
        if unread < held.unread:
            held.since = now
        held.unread = unread
        if unread > held.most:
            self.bytes += unread - held.most
            held.most = unread

    def _disconnect(self, holder: Holder) -> None:
        self.let_go(holder)
        holder.abort()
