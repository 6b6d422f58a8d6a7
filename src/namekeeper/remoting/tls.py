"""The server's TLS context: built off the loop, replaced when its files change (protocol.md 5.8)."""

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from namekeeper.remoting.tls_contexts import server_context
from namekeeper.remoting.tls_settings import TlsMode, TlsSettings, check_server_settings

__all__ = ["TlsContexts"]

POLL_SECONDS = 0.5
"""As in Java."""

_log = logging.getLogger("namekeeper.remoting")
_Digests = tuple[bytes | None, bytes | None, bytes | None]


class TlsContexts:
    """Builds and replaces the TLS context of a server.

    Nothing is built before `start`, which doesn't wait: files are read in a thread, and a certificate of
    our own is made when the first TLS client asks for it.
    """

    def __init__(self, read_settings: Callable[[], TlsSettings]) -> None:
        """Take the settings; raise ConfigError if they can never work.

        Args:
            read_settings: called now, and in a thread before each later build, since `tls.config.file` may
                have changed.
        """
        self._read_settings = read_settings
        self._settings = read_settings()
        if self._settings.mode is not TlsMode.DISABLED:
            check_server_settings(self._settings)
        self._context: ssl.SSLContext | None = None
        self._first_build: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._built_from: _Digests | None = None
        self._last_tried: _Digests | None = None
        self.reloads = 0
        """Contexts that replaced another."""
        self.failed_builds = 0

    @property
    def mode(self) -> TlsMode:
        """Which of TLS and plain connections are accepted; never changes."""
        return self._settings.mode

    def start(self) -> None:
        """Begin to build the context and to watch its files, if there are files."""
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
        if self._context is None and self.mode is not TlsMode.DISABLED:
            await asyncio.shield(self._start_first_build())
        return self._context

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

    async def _build(self) -> None:
        """Replace the context; a failure is logged and the old one stays."""
        try:
            settings, digests, context = await asyncio.to_thread(self._build_blocking)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the files, routing goes on
            self.failed_builds += 1
            kept = "the old one stays in use" if self._context else "TLS clients are turned away"
            _log.error("can't build the TLS context, %s: %s", kept, error)
            return
        if self._context is not None:
            self.reloads += 1
            _log.info("TLS certificates were reloaded")
        self._settings, self._built_from, self._context = settings, digests, context

    def _build_blocking(self) -> tuple[TlsSettings, _Digests, ssl.SSLContext]:
        settings = self._read_settings()
        # Taken before reading: if a file changes meanwhile, it differs from this digest and is read again.
        self._last_tried = digests = _digests(settings)
        return settings, digests, server_context(settings)

    def _has_changed(self) -> bool:
        """Whether to build again: since the last success, trust changed, or both certificate and key."""
        now = _digests(self._settings)
        if now == self._last_tried:
            return False
        if self._built_from is None:
            return True
        cert, key, trust = (
            new is not None and new != old for new, old in zip(now, self._built_from, strict=True)
        )
        return trust or (cert and key)


def _digests(settings: TlsSettings) -> _Digests:
    """Digests of certificate, key and trust; None for a file that isn't there."""
    return (
        _digest(settings.server_cert_path),
        _digest(settings.server_key_path),
        _digest(settings.server_trust_cert_path),
    )


def _digest(path: str) -> bytes | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return None
