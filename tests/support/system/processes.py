"""Foreign processes of the tests: started on loopback, awaited by a fact, ended by their own id."""

import contextlib
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from tests.support.system.waiting import PATIENCE

__all__ = ["LIVE", "Process", "ProcessError", "eventually", "free_port", "scratch_folder", "tail"]

T = TypeVar("T")

LIVE: "dict[str, Process]" = {}
"""The processes that run now, by label; a failed test shows the end of their output."""

_POLL_SECONDS = 0.05
_PORTS = range(12_000, 32_000)  # below the range from which the kernel gives out ports by itself
_HELD: list[contextlib.ExitStack] = []  # the sockets that hold ports for this process, to its end
_CHANCE = random.SystemRandom()  # the seeded generator draws the same ports in every process of a test run


class ProcessError(AssertionError):
    """A process ended, or did not say in time what it should; carries the end of its output."""


def eventually(fact: Callable[[], T | None], *, within: float, what: str) -> T:
    """Return the first true value of `fact`; fail, naming `what` was awaited, if that takes too long.

    `within` are the seconds that an idle machine may need; a busy one has more.
    An AssertionError or OSError of `fact` counts as "not yet" and is shown when time is up.
    """
    deadline = time.monotonic() + within * PATIENCE
    while True:
        reason: object
        try:
            reason = value = fact()
            if value:
                return value
        except (AssertionError, OSError) as error:
            if isinstance(error, ProcessError):
                raise
            reason = error
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what}; last seen: {reason!r}")
        time.sleep(_POLL_SECONDS)


def free_port(*offsets: int) -> int:
    """Return a port that is free on every interface, and so are its neighbours at `offsets`.

    Nobody else gets them from here while this process runs: their UDP ports, which no server wants, are held.
    """
    while True:
        port = _CHANCE.choice(_PORTS)
        with contextlib.suppress(OSError), contextlib.ExitStack() as probes, contextlib.ExitStack() as held:
            for number in (port, *(port + offset for offset in offsets)):
                probe = probes.enter_context(socket.socket())
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("", number))
                held.enter_context(socket.socket(type=socket.SOCK_DGRAM)).bind(("127.0.0.1", number))
            _HELD.append(held.pop_all())
            return port


@contextlib.contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Give a temporary folder; files that a dying process still writes are no reason to fail."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tail(path: Path, lines: int = 40) -> str:
    """Return the last lines of a text file, or nothing if there is none."""
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


class Process:
    """A child process whose output goes to a file; a context manager that always ends it."""

    def __init__(
        self, label: str, command: Sequence[str], *, output: Path, env: Mapping[str, str] | None = None,
        logs: Path | None = None, cwd: Path | None = None,
    ) -> None:  # fmt: skip
        self.label = label
        self.output = output
        self.logs = logs
        with output.open("ab") as sink:
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})}, cwd=cwd,
            )  # fmt: skip
        self.key = f"{label} (pid {self._child.pid})"
        LIVE[self.key] = self

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._child.poll()

    def text(self) -> str:
        """Return what it has printed so far."""
        return self.output.read_text(errors="replace")

    def await_line(self, pattern: str, *, within: float = 60) -> re.Match[str]:
        """Wait until its output matches `pattern`; fail at once if it ends before."""

        def seen() -> re.Match[str] | None:
            ended = self.returncode  # first, since it may end while its output is read
            match = re.search(pattern, self.text())
            if match is None and ended is not None:
                raise ProcessError(f"{self.label} ended with {ended}:\n{self.report()}")
            return match

        try:
            return eventually(seen, within=within, what=f"{pattern!r} from {self.label}")
        except ProcessError:
            raise
        except AssertionError as error:
            raise ProcessError(f"{error}\n{self.report()}") from None

    def wait(self, *, within: float) -> int:
        """Wait for its end and return the exit status; `within` is stretched as in `eventually`."""
        return self._child.wait(within * PATIENCE)

    def terminate(self) -> None:
        """Ask it to stop, without waiting."""
        self._child.terminate()

    def kill(self) -> None:
        """End it as a crash would, and wait until it is gone."""
        self._child.kill()
        self._child.wait()
        LIVE.pop(self.key, None)

    def stop(self, *, within: float = 30) -> None:
        """Terminate it, kill it if it does not go; may be called twice."""
        self._child.terminate()
        try:
            self._child.wait(within)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        LIVE.pop(self.key, None)

    def report(self) -> str:
        """Return the end of its output and of its log files."""
        return "\n".join(self._sections())

    def _sections(self) -> Iterator[str]:
        yield f"--- output of {self.label}:\n{tail(self.output)}"
        for log in sorted(self.logs.rglob("*.log")) if self.logs else ():
            if text := tail(log, 15):
                yield f"--- {log.name}:\n{text}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
