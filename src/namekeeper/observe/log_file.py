"""Follows the log file of a name server, also when it is rotated or truncated, and gives causes from it."""

import asyncio
import contextlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from namekeeper.clock import Clock
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.files import problem_with
from namekeeper.observe.causes import ChangeLog, has_cause_in_log
from namekeeper.observe.log_parser import LogEntry, LogParser
from namekeeper.route.events import Cause, Change

__all__ = ["BEHIND_BYTES", "CONTEXT_BYTES", "FollowedLog", "LogStatus", "Piece", "ServerLog"]

PIECE_BYTES = 1 << 20
CONTEXT_BYTES = 64 * 1024
"""Bytes before the place at which following begins: lines belong together."""
BEHIND_BYTES = 16 << 20
"""Most unread bytes; of more only the last are read, so that a log that grows fast takes no more time."""
POLL_SECONDS = 0.2
SETTLE_MS = 100
"""How long after an answer the log is read for the lines of its changes."""
WAIT_SECONDS = 1.0
"""How long a change waits for a log that can't be read as fast; then its cause is not known."""


class Piece(Struct, frozen=True):
    """Bytes of a log file."""

    data: bytes
    is_new_place: bool = False
    """Whether they do not follow the bytes before."""
    is_context: bool = False
    """Whether they were there before following began."""


class LogStatus(Struct, frozen=True):
    """The status of a log file."""

    path: str
    trouble: str
    """Why it can't be read now; empty if it can."""
    entries: int
    """Causes that were found in it."""
    skipped_bytes: int
    """Bytes that were not read, because the file grew too fast."""


class FollowedLog:
    """Reads what is appended to a file. All methods block.

    The file stays open until the name server writes another one in its place. So what it writes last is read,
    also if the file is renamed, compressed or deleted meanwhile.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.trouble = ""
        self.skipped_bytes = 0
        self._file: BinaryIO | None = None
        self._position = 0

    def read(self) -> Iterator[Piece]:
        """Bytes that were appended since the last call; none if the file can't be read (`trouble`)."""
        try:
            if self._file is None:
                self._open()
                yield from self._begin()
            is_other = self._is_other()
            yield from self._appended()
            if is_other:
                self.close()
                self._open()
                self._position = 0
                yield Piece(b"", is_new_place=True)
                yield from self._appended()
            self.trouble = ""
        except OSError as error:
            self.trouble = f"{self.path}: {problem_with(self.path, error)}"
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> None:
        # Without waiting: a pipe has no end, and opening it may wait for a writer.
        file = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError(0, "it is no file")
        self._file = os.fdopen(file, "rb", buffering=0)

    def _begin(self) -> Iterator[Piece]:
        """Go to the end of the file: what is there already happened before."""
        size = self._size()
        self._position = max(0, size - CONTEXT_BYTES)
        yield Piece(b"", is_new_place=True)
        while self._position < size:
            data = self._take(size - self._position)
            if not data:
                return
            yield Piece(data, is_context=True)

    def _appended(self) -> Iterator[Piece]:
        size = self._size()
        if size < self._position:  # it was truncated
            self._position = 0
            yield Piece(b"", is_new_place=True)
        if size - self._position > BEHIND_BYTES:
            self.skipped_bytes += size - BEHIND_BYTES - self._position
            self._position = size - BEHIND_BYTES
            yield Piece(b"", is_new_place=True)
        while self._position < size:
            data = self._take(min(PIECE_BYTES, size - self._position))
            if not data:
                return
            yield Piece(data)

    def _take(self, size: int) -> bytes:
        assert self._file is not None, "it is open"
        data = os.pread(self._file.fileno(), size, self._position)
        self._position += len(data)
        return data

    def _size(self) -> int:
        assert self._file is not None, "it is open"
        return os.fstat(self._file.fileno()).st_size

    def _is_other(self) -> bool:
        """Whether the path names another file by now. In the middle of a rotation it names none."""
        assert self._file is not None, "it is open"
        own = os.fstat(self._file.fileno())
        try:
            there = Path(self.path).stat()
        except FileNotFoundError:
            return False
        return (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino)


class ServerLog:
    """The log of one name server, read by a thread.

    Args:
        path: of the log file.
        clock: the time.
    """

    def __init__(self, path: str, clock: Clock) -> None:
        self._file = FollowedLog(path)
        self._clock = clock
        self._parser = LogParser()
        self._changes = ChangeLog()
        self._threads = DaemonThreads("log of a name server", 1)
        self._read_at: int | None = None
        """When the last reading began, monotonic ms."""
        self._is_read = asyncio.Event()
        self._reading = threading.Lock()
        self._is_over = False
        self._count = 0

    async def follow(self) -> None:
        """Read the file again and again, until cancelled."""
        try:
            while True:
                began = self._clock.now().mono_ms
                entries = await self._threads.run(self._read, began)
                since = began if self._read_at is None else self._read_at
                self._changes.add(entries, since, self._clock.now().mono_ms)
                self._count += len(entries)
                self._read_at = began
                self._is_read.set()
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._is_over = True
            self._close_if_over()

    async def explained(self, changes: list[Change], received: int) -> list[Change]:
        """The same changes with the causes that are in the log.

        Waits for lines that may come a moment after the answer, if some causes are not known yet.

        Args:
            changes: from one answer; the log may have a cause of one of them.
            received: when the answer was received, monotonic ms.
        """
        found = self._changes.explained(changes, received)
        if not has_cause_in_log(change for change in found if change.cause is Cause.OBSERVED):
            return found
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                while not self._file.trouble and (self._read_at or 0) < received + SETTLE_MS:
                    self._is_read.clear()
                    await self._is_read.wait()
        return self._changes.explained(changes, received)

    def status(self) -> LogStatus:
        """The status of the file."""
        file = self._file
        return LogStatus(file.path, file.trouble, self._count, file.skipped_bytes)

    def _read(self, now_ms: int) -> list[LogEntry]:
        found: list[LogEntry] = []
        with self._reading:
            for piece in self._file.read():
                if piece.is_new_place:
                    self._parser.reset()
                entries = self._parser.feed(piece.data, now_ms)
                if not piece.is_context:
                    found += entries
        self._close_if_over()
        return found

    def _close_if_over(self) -> None:
        """Close the file, unless a thread reads it: that one closes it afterwards."""
        if self._is_over and self._reading.acquire(blocking=False):
            self._file.close()
            self._reading.release()
