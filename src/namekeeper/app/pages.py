"""The operators' HTTP pages of a running server: loaded once the data port answers, closed with it."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from namekeeper.app.stats import Operators
from namekeeper.app.watching import RouteWatch
from namekeeper.config.load import parse_list
from namekeeper.config.settings import NamesrvSettings
from namekeeper.http.console_process import ConsoleProcess, NoConsoleError
from namekeeper.http.stats import JournalStats
from namekeeper.http.watchers import WhoKnows
from namekeeper.remoting.tls import TlsContexts

if TYPE_CHECKING:
    from namekeeper.app.access import AccessControl
    from namekeeper.http.server import OperatorHttpServer

__all__ = ["OperatorPages", "console_command", "journal_files"]

log = logging.getLogger("namekeeper.namesrv")

HTTP_SERVER = "namekeeper.http.server"
"""Module of the HTTP server. A thread imports it while the loop goes on: its libraries take a
fifth of a second."""


class OperatorPages:
    """Serves the operators' pages, if the HTTP port can be opened; routing goes on without it."""

    def __init__(
        self,
        operators: Operators,
        watch: RouteWatch,
        *,
        who_knows: Callable[[str], WhoKnows] | None,
        access: "AccessControl | None",
        tls: TlsContexts | None,
    ) -> None:
        """Prepare.

        Args:
            operators: returns numbers, health and the journal.
            watch: gives changes of routes.
            who_knows: returns the connections that looked up a topic; None if the server does not remember
                lookups.
            access: guards the pages; None without access rules.
            tls: TLS of the port; None: plain HTTP.
        """
        self._operators = operators
        self._watch = watch
        self._who_knows = who_knows
        self._access = access
        self._tls = tls
        self._open = contextlib.AsyncExitStack()
        self.server: OperatorHttpServer | None = None
        """Set while the port is open."""

    async def serve(self, settings: NamesrvSettings, port: int) -> None:
        """Open the port; log a failure.

        Args:
            settings: of the name server, as they are now.
            port: the port on which the name server listens.
        """
        try:
            await asyncio.to_thread(import_module, HTTP_SERVER)
            from namekeeper.http.server import OperatorHttpServer, PageAccess, PageSources

            operators, access = self._operators, self._access
            sources = PageSources(
                metrics=operators.stats,
                health=operators.health,
                nsaddr=operators.nsaddr,
                nsaddr_subgroup=settings.namesrv_domain_subgroup,
                journal=operators.journal,
                journal_files=lambda: journal_files(operators.journal()),
                watch=self._watch,
                who_knows=self._who_knows,
                console=ConsoleProcess(partial(console_command, operators.journal, settings, port)),
            )
            guards = PageAccess(names=parse_list(settings.http_host_names), tls=self._tls)
            if access is not None:
                guards = structs.replace(guards, refuse=access.refuse_page, policy=lambda: access.policy)
            self.server = await self._open.enter_async_context(
                OperatorHttpServer(settings.http_bind_address, settings.http_port, sources, guards)
            )
        except Exception:
            log.exception("no HTTP pages for operators")
            return
        if self.server.port is not None:
            scheme = "http" if self._tls is None else "https"
            log.info("operators' pages at %s://%s:%d/", scheme, settings.http_bind_address, self.server.port)

    def judge_again(self) -> None:
        """Apply the access rules again to every watcher."""
        if self.server is not None:
            self.server.watch_page.judge_again()

    async def close(self) -> None:
        """Close the port and end the console."""
        await self._open.aclose()


def console_command(
    journal: Callable[[], JournalStats | None], settings: NamesrvSettings, port: int
) -> Sequence[str]:
    """The words of the command that shows this name server; it ends when its input does.

    Args:
        journal: returns the numbers of the journal; None without one, and at first. If it can not be written,
            the console asks the name server.
        settings: of the name server.
        port: the port on which it listens.

    Raises:
        NoConsoleError: the journal is not open yet.
    """
    found = journal()
    if found is not None and found.namesrv:
        source = ("--journal", found.folder)
    elif settings.journal_enable and (found is None or found.is_writable):
        raise NoConsoleError("the name server opens its journal: it is asked again every second")
    else:
        source = ("--namesrv", f"{_reachable(settings.bind_address)}:{port}")
    limit = ("--history-bytes", str(settings.console_history_bytes))
    return (sys.executable, "-m", "namekeeper", "console", "--port", "0", "--until-eof", *limit, *source)


def _reachable(host: str) -> str:
    """An address at which a name server on this host can be reached."""
    everywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - not to bind to it
    return everywhere.get(host, f"[{host}]" if ":" in host else host)


def journal_files(journal: JournalStats | None) -> tuple[Path, Callable[[], list[str]]] | None:
    """The folder of a journal, and a function that lists its files; None until it is open."""
    if journal is None or not journal.namesrv:
        return None
    return Path(journal.folder), partial(_files_in, journal.folder)


def _files_in(folder: str) -> list[str]:
    from namekeeper.journal.disk.folder import list_segments  # imports modules that a start does not need
    from namekeeper.journal.disk.identity import IDENTITY_FILE

    try:
        return [IDENTITY_FILE, *map(str, list_segments(folder))]
    except OSError:
        return []
