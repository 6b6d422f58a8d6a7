"""How the C library keeps freed memory: large pieces go back to the system at once.

By default glibc takes a large piece from the system by itself, but once such a piece was freed it takes the
next ones from the heap, up to 32 MiB. A heap shrinks only at its end: one small object there, made while a
few bodies of 16 MiB were held, keeps all of it in the process for good.
"""

import contextlib

__all__ = ["LARGE_BYTES", "return_freed_memory"]

LARGE_BYTES = 1024 * 1024
"""From this size on a piece is returned by itself. It is more than what a transport reads at once (256 KiB):
the system would be asked for memory at each read."""
KEPT_BYTES = 8 * 1024 * 1024
"""What may be free at the end of the heap before it shrinks."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of glibc's malloc.h. Setting one of them ends that both are adjusted by what is freed."""


def return_freed_memory() -> bool:
    """Have freed memory returned to the system; False where the C library has no such setting."""
    import ctypes  # takes some ms, which a server has once it listens

    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))
    return False
