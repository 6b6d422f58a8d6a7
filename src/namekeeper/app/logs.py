"""Logging as Java's: the same files, form and words; the event loop only puts records into a queue.

The logger `namekeeper` and those below it write to namesrv.log, `namekeeper.traffic` to namesrv_traffic.log,
all others (asyncio, aiohttp) to namesrv_default.log.
"""

import contextlib
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from namekeeper.app.log_files import ROTATE_BYTES, LogFile
from namekeeper.app.log_lines import ChangeMessage
from namekeeper.common.on_console import is_on_console
from namekeeper.common.printable import printable
from namekeeper.files import problem_with

__all__ = ["QUEUE_LIMIT", "RETRY_SECONDS", "Logs", "format_line", "start_logs"]

QUEUE_LIMIT = 10_000
"""Entries that may wait for the disk; more are dropped and counted, because routing never waits for a log."""

RETRY_SECONDS = 5.0
"""Interval of tries to write to a failing log while there are no new entries."""

_STOP_SECONDS = 1
"""At a stop: the time limit for room in the queue, and again for writing the queue."""
_LINE_LIMIT = 16 * 1024
_GMT_PLUS_8 = 8 * 3600
_MAIN, _TRAFFIC, _DEFAULT = "namesrv", "namesrv_traffic", "namesrv_default"
_KEEP = {_MAIN: 5, _TRAFFIC: 10, _DEFAULT: 5}
_FILE_OF_LOGGER = {"namekeeper": _MAIN, "namekeeper.traffic": _TRAFFIC, "": _DEFAULT}
_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR}
_LEVEL_NAMES = {logging.WARNING: "WARN", logging.CRITICAL: "ERROR"}

_Entry = tuple[str, logging.LogRecord]
_Write = Callable[[str, bytes], None]
_WAKE: _Entry = ("", logging.makeLogRecord({}))
"""An entry without a line: it wakes the thread."""


class Logs:
    """The running log: handlers on the loggers, a bounded queue, a thread that writes."""

    def __init__(
        self,
        write: _Write,
        close: Callable[[], None],
        level: str,
        limit: int,
        stderr: TextIO,
        reopen: Callable[[], None] = lambda: None,
    ) -> None:
        self._refused = 0
        self._lost = 0
        self._recorded = 0
        """Number of lost entries that the log has mentioned."""
        self._retry_seconds = RETRY_SECONDS
        self._write = write
        self._close = close
        self._reopen = reopen
        self._must_reopen = False
        self._stderr = stderr
        self._queue: queue.Queue[_Entry | None] = queue.Queue(limit)
        self._level = _LEVELS[level]
        self._before: dict[str, tuple[list[logging.Handler], int, bool]] = {}
        self._attach()
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Entries lost so far: the queue was full, or the disk refused them."""
        return self._refused + self._lost

    @property
    def is_failing(self) -> bool:
        """Whether entries were lost that the log itself could not mention yet."""
        return self.dropped > self._recorded

    def set_level(self, level: str) -> None:
        """Log from another level on: DEBUG, INFO, WARN or ERROR."""
        self._level = _LEVELS[level]
        for name in _FILE_OF_LOGGER:
            logging.getLogger(name).setLevel(self._level)

    def reopen(self) -> None:
        """Open the files again by their names before the next line: another program may have renamed them."""
        self._must_reopen = True
        with contextlib.suppress(queue.Full):  # then a line wakes the thread
            self._queue.put_nowait(_WAKE)

    def stop(self) -> None:
        """Write the waiting entries, give the loggers back, close; may be called twice."""
        if not self._before:
            return
        for name, (handlers, level, propagate) in self._before.items():
            logger = logging.getLogger(name)
            logger.handlers[:], logger.propagate = handlers, propagate
            logger.setLevel(level)
        self._before = {}
        try:
            self._queue.put(None, timeout=_STOP_SECONDS)
        except queue.Full:
            return  # the disk hangs; the thread ends with the process
        self._thread.join(_STOP_SECONDS)
        if not self._thread.is_alive():
            self._close()

    def _attach(self) -> None:
        for name, file in _FILE_OF_LOGGER.items():
            logger = logging.getLogger(name)
            self._before[name] = (list(logger.handlers), logger.level, logger.propagate)
            logger.handlers[:], logger.propagate = [_ToQueue(self._put, file)], False
            logger.setLevel(self._level)

    def _put(self, entry: _Entry) -> None:
        try:
            self._queue.put_nowait(entry)
        except queue.Full:
            self._refused += 1

    def _run(self) -> None:
        while (entry := self._next()) is not None:
            if self._must_reopen:
                self._must_reopen = False
                self._open_again()
            if entry is not _WAKE:
                self._write_entry(entry)
            if self.is_failing and self._queue.empty():
                self._mention_losses()
        if self.is_failing and not self._mention_losses():
            self._say(self._losses())

    def _next(self) -> _Entry | None:
        """The next entry; while the log fails, tries at intervals to write to it again."""
        while True:
            try:
                return self._queue.get(timeout=self._retry_seconds if self.is_failing else None)
            except queue.Empty:
                self._mention_losses()

    def _write_entry(self, entry: _Entry) -> None:
        file, record = entry
        if is_on_console(record):
            self._say(record.getMessage())
        try:
            for level, text in _lines(record):
                if level >= self._level:
                    self._write(file, format_line(record.created, level, _thread(record), text))
        except OSError as error:
            if not self.is_failing:
                self._say(f"the log can't be written: {error}")
            self._lost += 1
        except Exception as error:  # noqa: BLE001 -- a line that can't be made must not end the log
            self._write(
                file,
                format_line(
                    record.created, logging.ERROR, "log-writer", f"a line could not be made: {error!r}"
                ),
            )

    def _open_again(self) -> None:
        try:
            self._reopen()
        except OSError as error:
            self._say(f"the log files can't be opened again, the old ones are written: {error}")

    def _losses(self) -> str:
        lost = self.dropped - self._recorded
        return f"{lost} log entries were dropped: the queue was full, or the disk refused them"

    def _mention_losses(self) -> bool:
        """Write a line about lost entries; return whether that succeeded."""
        dropped, text = self.dropped, self._losses()
        try:
            self._write(_MAIN, format_line(time.time(), logging.WARNING, "log-writer", text))
        except OSError:
            return False
        self._recorded = dropped
        return True

    def _say(self, text: str) -> None:
        _say(text, self._stderr)


class _ToQueue(logging.Handler):
    """Queues records unchanged; only a traceback becomes text at once, because it keeps frames in memory."""

    def __init__(self, put: Callable[[_Entry], None], file: str) -> None:
        super().__init__()
        self._put_entry = put
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record."""
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        self._put_entry((self._file, record))


def start_logs(
    root: str,
    level: str = "INFO",
    *,
    stderr: TextIO | None = None,
    queue_limit: int = QUEUE_LIMIT,
    rotate_bytes: int = ROTATE_BYTES,
) -> Logs:
    """Start to log below `root`; if that can't be written, report it once and log to stderr."""
    errors = stderr or sys.stderr
    files: dict[str, LogFile] = {}
    try:
        for name, keep in _KEEP.items():
            files[name] = LogFile(Path(root), name, keep=keep, rotate_bytes=rotate_bytes)
    except OSError as error:
        _close_all(files)
        _say(f"can't log to {root} ({problem_with(root, error)}): logging to stderr", errors)
        return Logs(lambda _, data: _to_stream(errors, data), lambda: None, level, queue_limit, errors)

    def reopen() -> None:
        for file in files.values():
            file.reopen()

    return Logs(
        lambda name, data: files[name].write(data),
        lambda: _close_all(files),
        level,
        queue_limit,
        errors,
        reopen,
    )


def format_line(at: float, level: int, thread: str, text: str) -> bytes:
    """One line as logback's `%d{yyyy-MM-dd HH:mm:ss,GMT+8} %p %t - %m%n` writes it."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at + _GMT_PLUS_8))
    name = _LEVEL_NAMES.get(level) or logging.getLevelName(level)
    return f"{stamp} {name} {thread} - {text}\n".encode(errors="replace")


def _lines(record: logging.LogRecord) -> Iterator[tuple[int, str]]:
    if isinstance(record.msg, ChangeMessage):
        for level, text in record.msg.lines():
            yield level, _one_line(text)
        return
    trace = f"\n{record.exc_text}" if record.exc_text else ""
    yield record.levelno, _one_line(record.getMessage()) + trace


def _thread(record: logging.LogRecord) -> str:
    return "main" if record.threadName == "MainThread" else record.threadName or "?"


def _one_line(text: str) -> str:
    """Make one line of a text, so that a peer's topic or key can't look like another log line."""
    text = printable(text)
    return text if len(text) <= _LINE_LIMIT else text[:_LINE_LIMIT] + "..."


def _say(text: str, stderr: TextIO) -> None:
    """Print a line, which may have a path that an operator gave."""
    print(f"namekeeper: {printable(text)}", file=stderr, flush=True)


def _close_all(files: Mapping[str, LogFile]) -> None:
    for file in files.values():
        file.close()


def _to_stream(stream: TextIO, data: bytes) -> None:
    stream.write(data.decode())
    stream.flush()
