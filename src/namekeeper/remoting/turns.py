"""Limits the time of requests in one turn of the event loop, over all connections.

Look-ups are served as they come. All other requests are served while the turn has time; the rest waits for
the next turns, first come, first served. Between two turns every connection is read. Requests that are known
to take long wait in a queue of their own, one for each turn, so hundreds of them delay nobody else.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter

__all__ = ["Turns"]

TURN_SECONDS = 0.002
"""Length of a turn. A single request may take longer; each kind has a limit of its own."""


class Turns:
    """The turns of one event loop; used on that loop only."""

    __slots__ = ("_clock", "_deadline", "_long", "_waiting")

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        """Begin with empty queues; `clock` counts seconds."""
        self._clock = clock
        self._deadline = 0.0
        """End of the present turn; 0 if there is none."""
        self._waiting: deque[Callable[[], None]] = deque()
        self._long: deque[Callable[[], None]] = deque()

    def has_time(self) -> bool:
        """Whether one more request may be served in this turn; begins a turn if there is none."""
        if not self._deadline:
            self._begin()
            asyncio.get_running_loop().call_soon(self._next)
            return True
        return self._clock() < self._deadline

    def wait(self, serve: Callable[[], None], *, is_long: bool = False) -> None:
        """Call `serve` in one of the next turns, while it has time; a long one at the end of a turn."""
        (self._long if is_long else self._waiting).append(serve)
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
        for _ in range(len(self._waiting)):  # one that waits again is served in the next turn
            self._waiting.popleft()()
            if self._clock() >= self._deadline:
                break
        if self._long:
            self._long.popleft()()
