"""How the C library keeps freed memory: large pieces go back at once, small ones in a quiet time.

By default glibc takes a large piece from the system by itself, but once such a piece was freed it takes the
next ones from the heap, up to 32 MiB. A heap shrinks only at its end: one small object there, made while a
few bodies of 16 MiB were held, keeps all of it in the process for good. What is free inside the heap goes
back only when that is asked for, which takes some 40 ms for 100 MiB.
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

LARGE_BYTES = 1024 * 1024
"""From this size on a piece is returned by itself. It is more than what a transport reads at once (256 KiB):
the system would be asked for memory at each read."""
KEPT_BYTES = 8 * 1024 * 1024
"""What may be free at the end of the heap before it shrinks."""

GROWTH_BYTES = 32 * 1024 * 1024
"""By how much a process has to be larger than it was at last before its heap is looked through again."""
QUIET_SHARE = 0.1
"""A quiet time is one in which a process takes no more than this share of a processor."""
LOOK_SECONDS = 10.0
"""How often it is looked whether there is something to return."""
PAGE_BYTES = 4096

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of glibc's malloc.h. Setting one of them ends that both are adjusted by what is freed."""


def return_freed_memory() -> bool:
    """Have freed memory returned to the system; False where the C library has no such setting."""
    import ctypes  # takes some ms, which a server has once it listens

    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))
    return False


def trim() -> None:
    """Return what is free inside the heap; takes a while, so call it in a thread and in a quiet time."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """Memory that this process has; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


class Trimming:
    """Decides when the heap is looked through: after growth, once the process is quiet."""

    def __init__(self, resident: int) -> None:
        """Begin with so many bytes that the process has."""
        self._least = resident
        self._cpu_seconds = 0.0

    def is_due(self, resident: int, *, cpu_seconds: float, passed_seconds: float) -> bool:
        """Whether to trim now.

        Args:
            resident: Bytes that the process has.
            cpu_seconds: What it has taken of processors since its start.
            passed_seconds: How long ago this was asked before.
        """
        is_quiet = cpu_seconds - self._cpu_seconds <= QUIET_SHARE * passed_seconds
        self._cpu_seconds = cpu_seconds
        self._least = min(self._least, resident)
        return is_quiet and resident > self._least + GROWTH_BYTES

    def note_trimmed(self, resident: int) -> None:
        """Note what is left after it was done: that much is held."""
        self._least = resident


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
