"""Time that passes when the test says so, for whoever takes a clock and a way to sleep."""

import asyncio
from typing import Any

from namekeeper.model.now import Now
from tests.support.server.builders import at

__all__ = ["FakeTime"]

SETTLING_TURNS = 50
"""Turns of the loop in which everything that needs no time has happened."""


class FakeTime:
    """A clock, and sleepers that wake when it is advanced past their time."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[Any]]] = []
        self.slept: list[float] = []
        """All that was ever asked for, in seconds."""

    @property
    def sleepers(self) -> int:
        """How many sleep."""
        return sum(not future.done() for _, future in self._sleepers)

    def now(self) -> Now:
        return at(self._seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._seconds + seconds, future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let time pass: sleepers wake in order, each at its own instant, and do what they do."""
        end = self._seconds + seconds
        await self.settle()
        while due := [sleeper for sleeper in self._sleepers if sleeper[0] <= end]:
            sleeper = min(due, key=lambda sleeper: sleeper[0])
            self._sleepers.remove(sleeper)
            self._seconds = max(self._seconds, sleeper[0])
            if not sleeper[1].done():
                sleeper[1].set_result(None)
                await self.settle()
        self._seconds = end

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        for _ in range(SETTLING_TURNS):
            await asyncio.sleep(0)
