"""The only module that reads the time; other layers get it as an argument."""

import time
from pathlib import Path
from typing import Protocol

from namekeeper.model.now import Now

__all__ = ["Clock", "SystemClock", "machine_boot"]

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


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


def machine_boot() -> str:
    """Return an identifier of this run of the machine and its monotonic clock; empty if unknown."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""
