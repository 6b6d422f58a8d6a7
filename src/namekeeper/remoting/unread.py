"""Answers that peers have not read, over all connections.

The server makes large answers only while there is room, and small answers at once. If they exceed the limit,
the server closes the connection whose peer has not read for the longest time. An answer counts completely
until its last byte is written, because the transport keeps it complete, and no longer. The answers of a
disconnected peer count until its transport has ended, which takes until the next event-loop iteration. If
these and the others together exceed another limit, further requests wait.
"""

from collections import deque
from collections.abc import Callable, Collection, Sized
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from namekeeper.messages.catalogue import Handling, codes_handled
from namekeeper.remoting.scheduler import call_soon

__all__ = ["LARGE_ANSWERS", "LISTS", "QUEUED_BYTES", "ROOM_LOOK_SECONDS", "UnreadAnswers"]

LARGE_ANSWERS = codes_handled(Handling.LARGE_READ)
"""Requests with answers of up to megabytes, made in one piece: they wait until there is room."""
LISTS = codes_handled(Handling.LIST)
"""Requests with answers of up to megabytes, made incrementally and sent when there is room: a connection has
one of them at a time."""
ROOM_LOOK_SECONDS = 0.05
"""Interval at which waiting requests look for room."""
MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Limit of unread bytes beyond each connection's high water mark. One more answer may be under way."""
MAX_SHARE = 2
"""Together with lookups, unread answers may be this many times the limit."""
FULL_SHARE = 3
"""With the answers of disconnected peers, they may be this many times the limit before all requests wait."""
GROWTH_SHARE = 8
"""After a growth by this part of the limit, reads with many requests wait for the next event-loop iteration.
Otherwise thousands of connections that read nothing would hold up lookups until each has its answers."""
CALLS_SHARE = 16
"""Beyond the limit, an answer that must wait causes about so many measurements: all at once, now and then."""
QUEUED_BYTES = 600
"""Memory of a waiting request of about 80 bytes, or of its answer from the cache."""
STALL_SECONDS = 5.0
"""While there is no room, the server closes a connection whose peer has read nothing for this long."""


class Holder(Protocol):
    """A connection with answers that its peer has not read."""

    def abort(self) -> None:
        """Close at once."""
        ...


@dataclass(slots=True)
class _Held:
    """The buffered bytes of one connection."""

    written: Callable[[], int]
    """Gives the bytes that were written and are not read yet."""
    waiting: Callable[[], int]
    """Gives the bytes of requests and answers that wait to be processed or written."""
    since: float
    """Time of the last read by the peer."""
    unread: int = 0
    """The last result of `written`, and the bytes written since."""
    answers: deque[int] = field(default_factory=deque)
    """Sizes of answers that are not read to their end, oldest first; the bytes at the start count as one."""
    answer_bytes: int = 0
    """Sum of `answers`."""
    counted: int = 0
    """Bytes counted for this connection."""

    def write(self, size: int) -> None:
        self.answers.append(size)
        self.answer_bytes += size
        self.unread += size

    def measure(self, now: float) -> int:
        """Forget answers that were read to their end; return the growth of the bytes since the last time."""
        unread = self.written()
        if unread < self.unread:
            self.since = now
        elif unread > self.unread:
            self.write(unread - self.unread)
        self.unread = unread
        while self.answers and self.answer_bytes - self.answers[0] >= unread:
            self.answer_bytes -= self.answers.popleft()
        before, self.counted = self.counted, self.answer_bytes + self.waiting()
        return self.counted - before


class UnreadAnswers:
    """Bytes buffered by connections whose peers are slow to read; used on one event loop only."""

    def __init__(
        self,
        limit: int = MAX_UNREAD_BYTES,
        clock: Callable[[], float] = monotonic,
        call_soon: Callable[[Callable[[], None]], object] = call_soon,
    ) -> None:
        """Start empty.

        Args:
            limit: most bytes of large answers.
            clock: counts seconds.
            call_soon: calls a function in the next event-loop iteration; by default the running loop's.
        """
        self._limit = limit
        self._clock = clock
        self._call_soon = call_soon
        self._held: dict[Holder, _Held] = {}
        """Holders that have read nothing for longest come first."""
        self._disconnected: dict[Holder, int] = {}
        """Disconnected holders whose transports have not ended -> their buffered bytes."""
        self._disconnected_bytes = 0
        self._unmeasured = 0
        """Calls beyond the limit since the last measurement of all."""
        self.bytes = 0
        """Buffered bytes of the others at the last measurement."""
        self._growth = 0
        """Bytes by which holders have grown since the last iteration in which they grew fast."""
        self.is_full = False
        """Whether all reads wait."""
        self.grows_fast = False
        """Whether reads with many requests wait for the next event-loop iteration."""

    def keep(
        self,
        holder: Holder,
        written: Callable[[], int],
        queued: Sized = (),
        waiting: Collection[Sized] = (),
    ) -> None:
        """Note that a peer is slow to read; if the total exceeds the limit, disconnect the slowest.

        Args:
            holder: its connection.
            written: gives the bytes that were written and not read.
            queued: requests of the same read that wait, and answers from the cache.
            waiting: bytes of the connection that wait, in pieces.
        """

        def bytes_waiting() -> int:
            return QUEUED_BYTES * len(queued) + sum(map(len, waiting))

        self.let_go(holder)
        held = self._held[holder] = _Held(written, bytes_waiting, self._clock())
        self._measure(holder, held, held.since)
        self._enforce()

    def add(self, holder: Holder, size: int) -> None:
        """Note that one more answer was written to a peer that is slow to read, and its size in bytes."""
        held = self._held.get(holder)
        if held is not None:
            held.write(size)
            self._measure(holder, held, self._clock())
            self._enforce()

    def let_go(self, holder: Holder) -> None:
        """Note that its peer has read everything, or that its transport has ended."""
        held = self._held.pop(holder, None)
        if held is not None:
            self.bytes -= held.counted
        self._disconnected_bytes -= self._disconnected.pop(holder, 0)
        self._note_full()

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
            self._unmeasured += 1
            if self._unmeasured * CALLS_SHARE >= len(self._held):
                self._look()
            while self.bytes > MAX_SHARE * self._limit:
                self._disconnect(next(iter(self._held)))
        self._note_full()

    def _look(self) -> None:
        """Measure again, and note which peers have read."""
        self._unmeasured = 0
        now = self._clock()
        for holder, held in list(self._held.items()):
            self._measure(holder, held, now)

    def _measure(self, holder: Holder, held: _Held, now: float) -> None:
        before = held.since
        growth = held.measure(now)
        self.bytes += growth
        self._growth += max(0, growth)
        if held.since != before:  # it comes last
            self._held[holder] = self._held.pop(holder)

    def _disconnect(self, holder: Holder) -> None:
        held = self._held.pop(holder)
        self.bytes -= held.counted
        self._disconnected[holder] = held.counted
        self._disconnected_bytes += held.counted
        holder.abort()

    def _note_full(self) -> None:
        self.is_full = self.bytes + self._disconnected_bytes > FULL_SHARE * self._limit
        is_fast = self.is_full or self._growth > self._limit // GROWTH_SHARE
        if is_fast and not self.grows_fast:
            self.grows_fast = True
            self._call_soon(self._begin_iteration)

    def _begin_iteration(self) -> None:
        self._growth, self.grows_fast = 0, False
