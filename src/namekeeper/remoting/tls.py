"""The server's TLS context: built off the loop, replaced when its files change (protocol.md 5.8)."""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.remoting.tls_contexts import ServerTls, server_tls
from namekeeper.remoting.tls_file_set import FileSet, build_from_one_set
from namekeeper.remoting.tls_lists import read_lists
from namekeeper.remoting.tls_settings import TlsMode, TlsSettings, check_server_settings

__all__ = ["TlsContexts"]

POLL_SECONDS = 0.5
"""As in Java. Files are used when two polls found the same, since a rotation may write them one by one."""

_log = logging.getLogger("namekeeper.remoting")


class _Failure(Struct, frozen=True):
    """Files that could not be used."""

    why: str
    since: float
    """Seconds since 1970."""
    until: float = 0.0
    """Time at which they become valid; 0: they can't be used as they are."""


class TlsContexts:
    """Builds and replaces the TLS context of a server.

    `start` starts the build without waiting for it: a thread reads the files. The server makes a certificate
    of its own when the first TLS client needs it.
    """

    def __init__(
        self,
        read_settings: Callable[[], TlsSettings],
        *,
        port: str = "the port of brokers and clients",
        seconds_now: Callable[[], float] = time.time,
    ) -> None:
        """Take the settings; raise ConfigError if they can never work.

        Args:
            read_settings: called now, and in a thread before each later build, since `tls.config.file` may
                have changed.
            port: the description of the port, for log lines.
            seconds_now: seconds since 1970.
        """
        self._read_settings = read_settings
        self._port = port
        self._seconds_now = seconds_now
        self._settings = read_settings()
        if self._settings.mode is not TlsMode.DISABLED:
            check_server_settings(self._settings)
            read_lists(self._settings)
        self._served: ServerTls | None = None
        self._first_build: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._seen: FileSet | None = None
        """The files at the last poll."""
        self._tried: FileSet | None = None
        """The files at the last build."""
        self._failure: _Failure | None = None
        self._problem = ""
        """The fault of the certificate in use, if it was logged."""
        self.reloads = 0
        """Contexts that replaced another."""
        self.failed_builds = 0
        self.turned_away = 0
        """Peers whose handshake failed, or for which there was no context."""

    @property
    def mode(self) -> TlsMode:
        """Which of TLS and plain connections the server accepts; never changes."""
        return self._settings.mode

    @property
    def is_usable(self) -> bool:
        """Whether there is or may be a context for a peer that speaks TLS."""
        return self._served is not None or self._failure is None

    @property
    def not_after(self) -> float | None:
        """Expiry of the certificate in use, in seconds since 1970; None: none, or one made on the spot."""
        return None if self._served is None else self._served.not_after

    @property
    def trouble(self) -> str:
        """The fault of the certificate in use or of the newest files; empty without a fault."""
        problem = "" if self._served is None else self._served.problem(self._seconds_now())
        if self._failure is None:
            return problem
        if self._served is None:
            since = _time(self._failure.since)
            return f"peers that speak TLS are turned away since {since}: {self._failure.why}"
        if self._served.not_after is None or problem:
            end = problem or "it never expires"
        else:
            end = f"it expires at {_time(self._served.not_after)}"
        return (
            f"the old certificate is served since {_time(self._failure.since)} ({end}), because the new files"
            f" can't be used: {self._failure.why}"
        )

    def start(self) -> None:
        """Start to build the context and to watch its files, if there are files."""
        if self.mode is not TlsMode.DISABLED and not self._settings.test_mode and self._watch is None:
            self._watch = asyncio.create_task(self._build_and_watch(), name="tls files")

    async def close(self) -> None:
        """Stop watching; may be called twice."""
        tasks = [task for task in (self._watch, self._first_build) if task is not None]
        self._watch = self._first_build = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def context(self) -> ssl.SSLContext | None:
        """Return the current context, or wait for the first one; None if it could not be built."""
        if self._served is None and self.mode is not TlsMode.DISABLED:
            await asyncio.shield(self._start_first_build())
        return None if self._served is None else self._served.context

    def _start_first_build(self) -> asyncio.Task[None]:
        if self._first_build is None:
            self._first_build = asyncio.create_task(self._build(), name="tls context")
        return self._first_build

    async def _build_and_watch(self) -> None:
        await asyncio.shield(self._start_first_build())
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if await asyncio.to_thread(self._has_changed):
                await self._build()
            self._look_at_the_clock()

    async def _build(self) -> None:
        """Replace the context; log a failure and keep the old one."""
        try:
            built = await asyncio.to_thread(self._build_blocking)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the files, routing goes on
            self._fail(str(error))
            return
        now = self._seconds_now()
        problem = built.problem(now)
        if problem and self._served is not None and not self._served.problem(now):
            self._fail(problem, built.not_before if built.not_before > now else 0.0)
            return
        for note in built.notes if self._served is None or self._served.notes != built.notes else ():
            _log.warning("%s", note, extra=ON_CONSOLE)
        if self._served is not None:
            self.reloads += 1
            _log.info("TLS certificates were reloaded")
        elif self._failure is not None:
            _log.info("TLS certificates were loaded")
        self._served, self._failure = built, None
        self._look_at_the_clock()

    def _build_blocking(self) -> ServerTls:
        # Note the files before the try: files that change meanwhile differ, so the next poll tries again.
        self._tried = FileSet.read(self._read_settings)
        self._tried, built = build_from_one_set(self._read_settings, server_tls)
        return built

    def _fail(self, why: str, until: float = 0.0) -> None:
        self.failed_builds += 1
        before = self._failure
        self._failure = _Failure(why, self._seconds_now() if before is None else before.since, until)
        if before is None or before.why != why:
            kept = "the old one stays in use" if self._served else "TLS clients are turned away"
            _log.error("can't build the TLS context, %s: %s: %s", kept, self._port, why, extra=ON_CONSOLE)

    def _look_at_the_clock(self) -> None:
        """Report once when the certificate in use expires."""
        problem = "" if self._served is None else self._served.problem(self._seconds_now())
        if problem and problem != self._problem:
            _log.error("TLS of %s: %s", self._port, problem, extra=ON_CONSOLE)
        self._problem = problem

    def _has_changed(self) -> bool:
        """Whether to build again: the files differ from those of the last try, and stay as they are."""
        found = FileSet.read(self._read_settings)
        is_settled, self._seen = found == self._seen, found
        if not is_settled:
            return False
        return found != self._tried or self._is_due()

    def _is_due(self) -> bool:
        """Whether a certificate that was not valid yet is valid now."""
        failure = self._failure
        return failure is not None and 0 < failure.until <= self._seconds_now()


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")
