"""The lock of a journal's folder: one process writes to it at a time."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from namekeeper.errors import JournalError
from namekeeper.files import open_plain_file

__all__ = ["LOCK_FILE", "TakeLock", "is_locked", "take_lock"]

LOCK_FILE = "lock"
LOOKS = 200
"""How often a process tries again while others hold the lock only to test it."""
LOOK_SECONDS = 0.001

TakeLock = Callable[[str], Callable[[], None]]
"""Locks a folder and returns the function that releases the lock. Raises JournalError if it is locked."""


def take_lock(path: str, *, instead: str = "give this name server another journalPath") -> Callable[[], None]:
    """Lock a folder until the process ends, in any way, or the returned function is called.

    Args:
        path: The folder.
        instead: Advice for the case that another process has it, besides to stop that one.

    Raises:
        JournalError: Another process has it.
        OSError: The lock can't be taken for another reason, as when the lock file is a symbolic link.
    """
    fd = open_plain_file(str(Path(path) / LOCK_FILE), os.O_RDWR | os.O_CREAT)
    try:
        _lock(fd)
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n".encode())
    except BlockingIOError:
        holder = os.read(fd, 20).decode(errors="replace").strip()
        os.close(fd)
        raise JournalError(
            f"{path} is in use by process {holder or 'unknown'}: stop it, or {instead}"
        ) from None
    except OSError:
        os.close(fd)
        raise
    return _Once(fd).release


def is_locked(path: str) -> bool:
    """Whether a process writes to a folder now."""
    try:
        fd = open_plain_file(str(Path(path) / LOCK_FILE), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _lock(fd: int) -> None:
    """Lock it, or raise BlockingIOError if a process writes to the folder; others release it soon."""
    for _ in range(LOOKS):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # a writer's lock excludes this
            fcntl.flock(fd, fcntl.LOCK_UN)
            time.sleep(LOOK_SECONDS)
        else:
            return
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class _Once:
    """Closes a descriptor only once: afterwards its number may belong to another file."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def release(self) -> None:
        """Release the lock; may be called twice."""
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):
                os.close(fd)
