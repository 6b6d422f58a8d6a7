"""The console of a name server: a process of its own that runs while a browser uses the page.

Reading a month of journal takes seconds of a processor and some memory. None of it is the name server's:
lookups go on beside it, and do not notice if the console dies.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct

__all__ = ["ConsoleAddress", "ConsoleProcess", "NoConsoleError"]

log = logging.getLogger("namekeeper.http")

IDLE_SECONDS = 600.0
"""Time after the last request at which it ends."""
START_SECONDS = 30.0
"""Time limit until it prints its address."""
TOKEN_VARIABLE = "NAMEKEEPER_CONSOLE_TOKEN"  # noqa: S105 - its name


class NoConsoleError(Exception):
    """The console does not run; the message names the remedy."""


class ConsoleAddress(Struct, frozen=True):
    """The address of a console, and the token that it wants."""

    url: str
    """Without a slash at the end."""
    token: str


class ConsoleProcess:
    """Starts the console on demand, and ends it after a while without requests.

    Args:
        command: returns the words of its command; it prints its address, and ends at the end of its input.
    """

    def __init__(self, command: Callable[[], Sequence[str]]) -> None:
        self._command = command
        self._child: subprocess.Popen[str] | None = None
        self._address: ConsoleAddress | None = None
        self._starting: asyncio.Task[None] | None = None
        """The start that is under way, of which no request is the owner: peers may leave meanwhile."""
        self._users = 0
        self._end: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self._child is not None and self._child.poll() is None

    @contextlib.asynccontextmanager
    async def used(self) -> AsyncIterator[ConsoleAddress]:
        """The address of the process, which does not end while this context is entered.

        Raises:
            NoConsoleError: it does not start.
        """
        self._users += 1
        if self._end is not None:
            self._end.cancel()
        try:
            if not self.is_running:
                await asyncio.shield(self._start_once())
            assert self._address is not None
            yield self._address
        finally:
            self._users -= 1
            if not self._users:
                self._end = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.stop)

    def stop(self) -> None:
        """End it, if it runs; it ends by itself once its input is closed."""
        if self._end is not None:
            self._end.cancel()
        if self._starting is not None:
            self._starting.add_done_callback(lambda _: self.stop())
        child, self._child = self._child, None
        if child is not None:
            _ended(child)
            log.info("the console (process %d) is ended", child.pid)

    def _start_once(self) -> asyncio.Task[None]:
        """The start that all requests wait for. One that is cancelled would leave its process behind."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start(), name="start of the console")
            self._starting.add_done_callback(self._end_start)
        return self._starting

    def _end_start(self, start: asyncio.Task[None]) -> None:
        self._starting = None
        if not start.cancelled():
            start.exception()  # every request may have left that would get it

    async def _start(self) -> None:
        if self._child is not None:
            _ended(self._child)  # it died: remove its remains
        token = secrets.token_urlsafe(24)
        words = list(self._command())
        try:
            child = await asyncio.to_thread(_started, words, token)
        except OSError as error:
            raise NoConsoleError(f"the console did not start: {error}") from None
        assert child.stdout is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await asyncio.to_thread(child.stdout.readline)
        except TimeoutError:
            line = ""
        url, _, _ = line.strip().partition("#")
        if not url:
            _ended(child)
            raise NoConsoleError("the console did not start; the error output of the name server says why")
        log.info("the console runs as process %d", child.pid)
        self._child, self._address = child, ConsoleAddress(url.rstrip("/"), token)


def _started(words: Sequence[str], token: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own program
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, TOKEN_VARIABLE: token},
    )


def _ended(child: "subprocess.Popen[str]") -> None:
    """End a child; a thread waits for it, since that may take a moment."""
    child.terminate()
    threading.Thread(target=_reaped, args=(child,), daemon=True).start()


def _reaped(child: "subprocess.Popen[str]") -> None:
    child.wait()
    for stream in (child.stdin, child.stdout):
        assert stream is not None
        stream.close()
