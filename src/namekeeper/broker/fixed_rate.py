"""Waits at a fixed rate, from start to start, as Java's `scheduleAtFixedRate` does."""

import asyncio
from collections.abc import Awaitable, Callable

from namekeeper.clock import Clock

__all__ = ["FixedRate", "Sleep"]

Sleep = Callable[[float], Awaitable[object]]
"""Waits this many seconds; tests bring one that does not wait."""


class FixedRate:
    """A fixed rate. Periods that were missed are skipped, not repeated."""

    def __init__(self, period_ms: int, *, first_ms: int, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        """Count from now on.

        Args:
            period_ms: between one time and the next.
            first_ms: until the first time.
            clock: whose monotonic time is counted.
            sleep: waits.
        """
        self._period_ms = period_ms
        self._clock = clock
        self._sleep = sleep
        self._due_ms = clock.now().mono_ms + first_ms

    async def next(self) -> None:
        """Wait until the next time."""
        while (wait_ms := self._due_ms - self._clock.now().mono_ms) > 0:
            await self._sleep(wait_ms / 1000)
        late = -wait_ms // self._period_ms
        self._due_ms += self._period_ms * (late + 1)
