"""The only module that reads the time; other layers get it as an argument."""

import time
from typing import Protocol

from namekeeper.model.now import Now

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """A source of the time."""

    def now(self) -> Now:
        """The instant of this call."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> Now:
        """Wall time and monotonic time, read together."""
        return Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)
