"""The time that requests may take in one turn of the event loop, over all connections.

Look-ups are served as they come. Everything else is served while the turn has time; what is left over waits
for the next turns, first come first served, and every connection is read from between two of them. What is
known to take long waits apart, one for each turn: hundreds of them delay nobody else.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter

__all__ = ["Turns"]

TURN_SECONDS = 0.002
"""Then everybody else is served. A single request may take longer, see what bounds each."""


class Turns:
    """Touched from one event loop only."""

    __slots__ = ("_clock", "_deadline", "_long", "_waiting")

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        """Begin with nobody waiting; `clock` counts seconds."""
        self._clock = clock
        self._deadline = 0.0
        """When the turn that is under way is over; 0 when none is."""
        self._waiting: deque[Callable[[], None]] = deque()
        self._long: deque[Callable[[], None]] = deque()

    def has_time(self) -> bool:
        """Whether one more request may be served in this turn; begins a turn when none is under way."""
        if not self._deadline:
            self._begin()
            asyncio.get_running_loop().call_soon(self._next)
            return True
        return self._clock() < self._deadline

    def wait(self, serve: Callable[[], None], *, is_long: bool = False) -> None:
        """Have `serve` called in one of the next turns, while it has time; what is long at its end."""
        (self._long if is_long else self._waiting).append(serve)
        if not self._deadline:
            self._begin()
            asyncio.get_running_loop().call_soon(self._next)

    def _begin(self) -> None:
        self._deadline = self._clock() + TURN_SECONDS

    def _next(self) -> None:
        """Begin the next turn with those who wait; without any, the next request begins it."""
        if not self._waiting and not self._long:
            self._deadline = 0.0
            return
        self._begin()
        asyncio.get_running_loop().call_soon(self._next)
        for _ in range(len(self._waiting)):  # who waits again is served in the next turn
            self._waiting.popleft()()
            if self._clock() >= self._deadline:
                break
        if self._long:
            self._long.popleft()()
