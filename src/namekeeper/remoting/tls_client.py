"""The TLS context of a client that runs for long: built anew when its files have changed."""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable

from namekeeper.errors import ConfigError
from namekeeper.remoting.tls_contexts import client_context, client_notes
from namekeeper.remoting.tls_file_set import FileSet, build_from_one_set
from namekeeper.remoting.tls_settings import TlsSettings

__all__ = ["ClientTls", "Tls", "present_context"]

LOOK_SECONDS = 0.5
"""Shortest time in seconds between two looks at the files, as in servers."""

_log = logging.getLogger("namekeeper.remoting")


class ClientTls:
    """Returns the context for each new connection; it looks at the files only then."""

    def __init__(
        self,
        read_settings: Callable[[], TlsSettings],
        build: Callable[[TlsSettings], ssl.SSLContext | None] = client_context,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Build the first context; blocks on the disk.

        Args:
            read_settings: called now, and in a thread before each later build.
            build: makes the context; see `tls_contexts`.
            monotonic: seconds.

        Raises:
            ConfigError: the files can't be used.
        """
        self._read_settings, self._build, self._monotonic = read_settings, build, monotonic
        self._files, self._context = build_from_one_set(read_settings, build)
        self._seen = self._files
        self._looked_at = monotonic()
        self._trouble = ""
        for note in client_notes(self._files.settings) if self._files.settings else ():
            _log.warning("%s", note)

    async def context(self) -> ssl.SSLContext | None:
        """Return the newest usable context; None if the settings turn TLS off."""
        now = self._monotonic()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            await asyncio.to_thread(self._look)
        return self._context

    def _look(self) -> None:
        found = FileSet.read(self._read_settings)
        if found == self._seen:
            return
        self._seen = found
        try:
            self._files, self._context = build_from_one_set(self._read_settings, self._build)
        except ConfigError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                _log.error("the TLS files can't be used, the old ones stay in use: %s", error)
            return
        self._trouble = ""
        _log.info("TLS files of a client were reloaded")


Tls = ssl.SSLContext | ClientTls
"""The TLS of a client: a context that stays as it is, or one that follows its files."""


async def present_context(tls: Tls | None) -> ssl.SSLContext | None:
    """Return the context to use for a new connection."""
    return await tls.context() if isinstance(tls, ClientTls) else tls
