"""Limits the time of requests in one turn of the event loop, over all connections.

Look-ups are served as they come. Everything else is served while the turn has time; what is left over waits
for the next turns, and every connection is read from between two of them. Peers take turns, and of the
connections of a peer who came first is first. All connections from one host are one peer, but those over
which brokers are registered are another one: thousands of connections delay nobody else, and no broker behind
their address. What is known to take long waits apart, one for each turn.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter

__all__ = ["Turns"]

Peer = tuple[str, bool]
"""A host, and whether a broker is registered over the connection."""

TURN_SECONDS = 0.002
"""Length of a turn. A single request may take longer; each kind has a limit of its own."""


class Turns:
    """The turns of one event loop; used on that loop only."""

    __slots__ = ("_clock", "_deadline", "_long", "_peers", "_waiting")

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        """Begin with empty queues; `clock` counts seconds."""
        self._clock = clock
        self._deadline = 0.0
        """When the turn that is under way is over; 0 when none is."""
        self._waiting = 0
        self._peers: dict[Peer, deque[Callable[[], None]]] = {}
        """Those who wait; whose peer comes first has the next turn."""
        self._long: deque[Callable[[], None]] = deque()

    def has_time(self) -> bool:
        """Whether one more request may be served in this turn; begins a turn if there is none."""
        if not self._deadline:
            self._begin()
            asyncio.get_running_loop().call_soon(self._next)
            return True
        return self._clock() < self._deadline

    def wait(self, serve: Callable[[], None], *, peer: Peer = ("", False), is_long: bool = False) -> None:
        """Have `serve` called in one of the next turns, while it has time; what is long at its end."""
        if is_long:
            self._long.append(serve)
        else:
            self._peers.setdefault(peer, deque()).append(serve)
            self._waiting += 1
        if not self._deadline:
            self._begin()
            asyncio.get_running_loop().call_soon(self._next)

    def _begin(self) -> None:
        self._deadline = self._clock() + TURN_SECONDS

    def _next(self) -> None:
        """Begin the next turn with the waiting ones; if there are none, the next request begins it."""
        if not self._waiting and not self._long:
            self._deadline = 0.0
            return
        self._begin()
        asyncio.get_running_loop().call_soon(self._next)
        for _ in range(self._waiting):  # who waits again is served in the next turn
            self._take()()
            if self._clock() >= self._deadline:
                break
        if self._long:
            self._long.popleft()()

    def _take(self) -> Callable[[], None]:
        """Take the next one out; its peer goes to the end."""
        self._waiting -= 1
        peer = next(iter(self._peers))
        waiting = self._peers.pop(peer)
        serve = waiting.popleft()
        if waiting:
            self._peers[peer] = waiting
        return serve
