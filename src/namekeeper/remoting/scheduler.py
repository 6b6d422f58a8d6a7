"""Divides the time of an event-loop iteration among requests and background work.

The server reads from every connection between two iterations. It answers cached lookups as they come; they
wait for nothing here. Everything else has a limited time in one iteration, in this order:

1. Lookups that the cache does not answer: first the waiting ones, later those that arrive. Of the waiting
   ones, short lookups have half of the time, and long ones the rest.
2. Other requests: first the waiting ones, later those that arrive.
3. One long request. Requests that are known to take long wait apart.
4. Background work, step by step. Each kind of work has one step in turn, so none of it starves.

Of those that wait, hosts are served round-robin, and connections of one host in arrival order. Connections
with a registered broker count as another host. So thousands of connections delay no other host, and no broker
behind their address.

Bytes that arrive over TLS are decrypted as they come, too. A peer chooses the size of its records, and tiny
ones take long. So an iteration that has decrypted for its time stops, and what arrives stays encrypted. The
next iterations go on with a few connections each.

Requests and background work have one half of the same time each. An iteration without background work is
shorter.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from time import perf_counter
from typing import TypeVar

__all__ = ["ITERATION_SECONDS", "Peer", "Scheduler", "call_soon"]

Peer = tuple[str, bool]
"""A host, and whether a broker is registered over the connection."""
Step = Callable[[], bool]
"""Does a little of some work; returns whether more remains."""
T = TypeVar("T")

ITERATION_SECONDS = 0.004
"""Time of everything but lookups in one iteration. A single call may take longer; each kind has its limit."""
HALF_SECONDS = ITERATION_SECONDS / 2
MISS_SECONDS = 0.01
"""Time in one iteration of the lookups that the cache does not answer: about 400 of them, or four with the
largest routes that are made in one piece."""
MISS_TURN_SECONDS = 0.00025
"""Time of one connection with waiting lookups, after its first one: about 10 of them."""
READ_SECONDS = 0.02
"""Time in one iteration of decrypting, and of serving what was decrypted, until further connections wait."""
READS_AT_ONCE = 8
"""Connections that decrypt again in one iteration: at most 50 ms if each has 64 KiB in tiny records."""


def call_soon(call: Callable[[], None]) -> None:
    """Call a function in the next iteration of the running loop."""
    asyncio.get_running_loop().call_soon(call)


class _WaitingCalls:
    """Calls that wait, by peer; the first peer is next."""

    __slots__ = ("_peers", "count")

    def __init__(self) -> None:
        self.count = 0
        self._peers: dict[Peer, deque[Callable[[], None]]] = {}

    def add(self, peer: Peer, serve: Callable[[], None]) -> None:
        """Add a call behind the others of its peer."""
        self._peers.setdefault(peer, deque()).append(serve)
        self.count += 1

    def take(self) -> Callable[[], None]:
        """Take the next call out; its peer goes to the end."""
        self.count -= 1
        peer = next(iter(self._peers))
        waiting = self._peers.pop(peer)
        serve = waiting.popleft()
        if waiting:
            self._peers[peer] = waiting
        return serve


class Scheduler:
    """The scheduler of one event loop; used on that loop only."""

    __slots__ = (
        "_background", "_call_soon", "_clock", "_deadline", "_long", "_long_misses", "_miss_deadline",
        "_misses", "_read_deadline", "_reads", "_requests", "is_late",
    )  # fmt: skip

    def __init__(
        self,
        clock: Callable[[], float] = perf_counter,
        call_soon: Callable[[Callable[[], None]], object] = call_soon,
    ) -> None:
        """Start with empty queues.

        Args:
            clock: counts seconds, from more than 0.
            call_soon: calls a function in the next iteration; by default the running loop's.
        """
        self._clock = clock
        self._call_soon = call_soon
        self._deadline = 0.0
        """End of the half under way; 0 when nothing was called in this iteration."""
        self._miss_deadline = 0.0
        """End of the time for lookups that the cache does not answer."""
        self.is_late = False
        """Whether such a lookup had to wait in this iteration."""
        self._misses = _WaitingCalls()
        """Such lookups that are short."""
        self._long_misses = _WaitingCalls()
        self._requests = _WaitingCalls()
        self._reads = _WaitingCalls()
        """Connections that wait to decrypt."""
        self._read_deadline = 0.0
        """End of the time for decrypting; 0 before anything was decrypted in this iteration."""
        self._long: deque[Callable[[], None]] = deque()
        self._background: deque[Step] = deque()

    def has_time(self) -> bool:
        """Whether one more call fits into this iteration."""
        if not self._deadline:
            self._begin()
            return True
        return self._clock() < self._deadline

    def has_time_for_miss(self) -> bool:
        """Whether one more lookup that the cache does not answer fits into this iteration."""
        if not self._deadline:
            self._begin()
            return True
        if self._clock() < self._miss_deadline:
            return True
        self.is_late = True
        return False

    def has_time_to_read(self) -> bool:
        """Whether another connection may decrypt in this iteration, after one has."""
        if not self._read_deadline:
            self._begin_reads()
            return True
        return self._clock() < self._read_deadline

    def wait_to_read(self, go_on: Callable[[], None], peer: Peer) -> None:
        """Call `go_on`, which lets a connection of a peer decrypt again, in one of the next iterations."""
        self._reads.add(peer, go_on)

    def wait(
        self,
        serve: Callable[[], None],
        *,
        peer: Peer = ("", False),
        is_long: bool = False,
        is_miss: bool = False,
    ) -> None:
        """Call `serve` in one of the next iterations, while it has time.

        Args:
            serve: processes the requests of a connection.
            peer: its host, and whether a broker is registered over it.
            is_long: whether the first request is known to take long: one such call in each iteration, or as
                many lookups as have time.
            is_miss: whether the first request is a lookup that the cache does not answer.
        """
        if is_miss:
            (self._long_misses if is_long else self._misses).add(peer, serve)
        elif is_long:
            self._long.append(serve)
        else:
            self._requests.add(peer, serve)
        if not self._deadline:
            self._begin()

    def add(self, step: Step) -> None:
        """Call `step` as background work from the next iteration on, until it returns False.

        An error of a step goes to the loop's exception handler; the step is called again.
        """
        self._background.append(step)
        if not self._deadline:
            self._begin()

    def start(self, step: Step) -> None:
        """Call `step` until it returns False: now while this iteration has time, then as background work."""
        if not self._deadline:
            self._begin()
        goes_on = True
        try:
            while goes_on := step():
                if not self.has_time():
                    break
        finally:
            if goes_on:
                self.add(step)

    async def finish(self, slices: Generator[None, None, T]) -> T:
        """Run slices as background work; return their result, or raise their error."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def step() -> bool:
            if outcome.cancelled():
                return False
            try:
                next(slices)
            except StopIteration as end:
                outcome.set_result(end.value)
            except Exception as error:  # noqa: BLE001 - the caller gets it
                outcome.set_exception(error)
            return not outcome.done()

        self.add(step)
        return await outcome

    def _begin(self) -> None:
        now = self._clock()
        self._deadline, self._miss_deadline = now + HALF_SECONDS, now + MISS_SECONDS
        self.is_late = False
        self._call_soon(self._iterate)

    def _begin_reads(self) -> None:
        self._read_deadline = self._clock() + READ_SECONDS
        self._call_soon(self._read_on)

    def _read_on(self) -> None:
        """Let some of those decrypt that wait; if there is none, the next read starts to count the time."""
        if not self._reads.count:
            self._read_deadline = 0.0
            return
        self._begin_reads()
        for _ in range(min(READS_AT_ONCE, self._reads.count)):
            self._reads.take()()

    def _iterate(self) -> None:
        """Do what waits; if there is nothing, the next call starts to count the time."""
        misses = self._misses.count + self._long_misses.count
        if not misses and not self._requests.count and not self._long and not self._background:
            self._deadline, self.is_late = 0.0, False
            return
        self._begin()  # first: an error of a call stops no other
        try:
            if misses:
                self._serve_misses()
        finally:
            left = self._miss_deadline - self._clock()
            try:
                self._serve()
            finally:
                if self._background:
                    self._run_steps()
                self._miss_deadline = self._clock() + left

    def _serve_misses(self) -> None:
        """Serve lookups that wait, some of each connection; then the half of requests starts.

        A crowd that asks for the largest routes would else hold up each client behind the same address.
        """
        end = self._miss_deadline
        try:
            try:
                self._serve_some(self._misses, end - MISS_SECONDS / 2 if self._long_misses.count else end)
            finally:
                self._serve_some(self._long_misses, end)
        finally:
            self._miss_deadline, self._deadline = end, self._clock() + HALF_SECONDS

    def _serve_some(self, misses: _WaitingCalls, end: float) -> None:
        for _ in range(misses.count):
            self._miss_deadline = min(end, self._clock() + MISS_TURN_SECONDS)
            misses.take()()
            if self._clock() >= end:
                break

    def _serve(self) -> None:
        for _ in range(self._requests.count):  # a request that waits again is served in the next iteration
            self._requests.take()()
            if self._clock() >= self._deadline:
                break
        if self._long:
            self._long.popleft()()

    def _run_steps(self) -> None:
        """Call the steps round-robin while their half lasts; requests that arrive keep the rest of theirs."""
        now = self._clock()
        left, self._deadline = self._deadline - now, now + HALF_SECONDS
        due, self._background = self._background, deque()
        try:
            while due:
                goes_on = True
                step = due.popleft()
                try:
                    goes_on = step()
                finally:
                    if goes_on:
                        due.append(step)
                if self._clock() >= self._deadline:
                    break
        finally:
            due.extend(self._background)
            self._background = due
            self._deadline = self._clock() + left
