"""Returns freed memory to the system: large pieces at once, small ones in a quiet time.

By default glibc takes a large piece directly from the system. But once such a piece was freed, it takes
pieces of up to 32 MiB from the heap. A heap shrinks only at its end: one small object there, made while a few
bodies of 16 MiB were in memory, keeps the complete heap for ever. Free memory inside the heap is returned
only on request, which takes about 40 ms for 100 MiB.
"""

import asyncio
import contextlib
from pathlib import Path
from time import process_time

__all__ = [
    "GROWTH_BYTES",
    "Trimming",
    "resident_bytes",
    "return_freed_memory",
    "return_memory_in_quiet_times",
    "trim",
]

LARGE_BYTES = 4 * 1024 * 1024
"""From this size on a piece returns to the system by itself. Fresh pages cost a millisecond for each MiB: the
body of a heartbeat of 10,000 topics, in JSON, is smaller."""
KEPT_BYTES = 8 * 1024 * 1024
"""Bytes that may be free at the end of the heap before it shrinks."""

GROWTH_BYTES = 32 * 1024 * 1024
"""Growth of a process since the last trim that makes the next one due."""
AGAIN_SECONDS = 30.0
"""Interval of trims while a process is larger than it once was, even without new growth: memory in use at the
last trim may be free by now. A trim takes no time if nothing is free."""
QUIET_SHARE = 0.1
"""A time is quiet if the process uses no more than this share of a processor."""
LOOK_SECONDS = 10.0
"""Interval of the check whether to trim."""
PAGE_BYTES = 4096

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""From glibc's malloc.h. Setting one of them ends glibc's own adjustment of both."""


def return_freed_memory() -> bool:
    """Make the C library return freed memory to the system; False if it has no such setting."""
    import ctypes  # the import takes some ms, which don't matter once a server listens

    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))
    return False


def trim() -> None:
    """Return free memory inside the heap; it takes a while, so call it in a thread and in a quiet time."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """Resident memory of this process; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


class Trimming:
    """Decides when to trim the heap: after growth and then now and then, in a quiet time."""

    def __init__(self, resident: int) -> None:
        """Start with the resident bytes of the process."""
        self._least = self._left = resident
        self._cpu_seconds = self._passed_seconds = 0.0

    def is_due(self, resident: int, *, cpu_seconds: float, passed_seconds: float) -> bool:
        """Whether to trim now.

        Args:
            resident: resident bytes of the process.
            cpu_seconds: processor time that it has used since its start.
            passed_seconds: time since the last call.
        """
        is_quiet = cpu_seconds - self._cpu_seconds <= QUIET_SHARE * passed_seconds
        self._cpu_seconds = cpu_seconds
        self._passed_seconds += passed_seconds
        self._least = min(self._least, resident)
        self._left = min(self._left, resident)
        has_grown = resident > self._left + GROWTH_BYTES
        may_be_free = resident > self._least + GROWTH_BYTES and self._passed_seconds >= AGAIN_SECONDS
        return is_quiet and (has_grown or may_be_free)

    def note_trimmed(self, resident: int) -> None:
        """Note the remaining bytes after a trim: the process holds them for now."""
        self._left = resident
        self._passed_seconds = 0.0


async def return_memory_in_quiet_times() -> None:
    """Return freed memory to the system after each burst, until cancelled."""
    trimming = Trimming(resident_bytes())
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        await asyncio.to_thread(_trim_if_due, trimming)


def _trim_if_due(trimming: Trimming) -> None:
    if trimming.is_due(resident_bytes(), cpu_seconds=process_time(), passed_seconds=LOOK_SECONDS):
        trim()
        trimming.note_trimmed(resident_bytes())
