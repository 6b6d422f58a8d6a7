"""The HTTP server for operators: metrics, health, address list, files of the journal; read only.

It is never in the way of routing: it runs in the loop of the name server, after the data port answers. If it
fails, routing goes on.
"""

import asyncio
import logging
import os
import re
import socket
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from aiohttp import web
from msgspec import Struct, json

from namekeeper import __version__
from namekeeper.access.peer import Peer
from namekeeper.access.policy import AccessPolicy
from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.http.console_page import ConsolePage
from namekeeper.http.console_process import ConsoleProcess
from namekeeper.http.doors import Doors
from namekeeper.http.gate import Connection
from namekeeper.http.health import Health, HealthSource, health_of
from namekeeper.http.health_pages import health_pages
from namekeeper.http.host_turns import HostTurns
from namekeeper.http.metrics import render_metrics
from namekeeper.http.page_clients import client_of
from namekeeper.http.page_server import PageServer
from namekeeper.http.page_table import TEXTS, Guard, Page, json_answer, stream_answer, text_answer
from namekeeper.http.slots import Slots
from namekeeper.http.stats import JournalStats, StatsSource
from namekeeper.http.watch import REVISION_HEADER, WatchPage
from namekeeper.http.watchers import WatchRefusal, WatchSource, WhoKnows
from namekeeper.remoting.tls import TlsContexts

__all__ = ["JournalFiles", "JournalPage", "OperatorHttpServer", "PageAccess", "PageSources"]

log = logging.getLogger("namekeeper.http")

FILES_LIMIT = 16
"""Files of the journal that are sent at a time: each has a descriptor and a piece in memory."""

_INDEX = """\
namekeeper, a RocketMQ name server

/                  in a browser: what is there, what happened, why
/metrics           for Prometheus
/healthz           200 while the process runs
/readyz            200 while clients should use it; ?strict=1 counts degraded as not ready
/status            version, health, journal and lookups as JSON
/watch?topic=NAME  changes of routes as they happen: ?after=REVISION waits; text/event-stream streams
/who-knows?topic=  which connections have asked since the last change (rememberLookups)
/journal           names of the files of the journal; /journal/NAME is one of them
/rocketmq/nsaddr   the address list that clients without one ask for
"""


PIECE_BYTES = 128 * 1024
"""Bytes of a file in memory for each reader."""


class JournalFiles(Protocol):
    """Returns the files of a running name server's journal, if it has one."""

    def __call__(self) -> tuple[Path, Callable[[], list[str]]] | None:
        """The folder, and a slow function that lists its files; None without a journal."""
        ...


class JournalPage:
    """Answers `/journal` and `/journal/NAME`, for tools on other hosts that answer questions about the past.

    The page sends the files as they are on disk; the client does the work of reading them. Clients can
    request only listed files: no name from a peer becomes a path.
    """

    def __init__(self, files: JournalFiles) -> None:
        self._files = files

    async def names(self, _request: web.BaseRequest) -> web.StreamResponse:
        """Send the names of the files."""
        _, found = await self._look()
        return web.Response(body=json.encode({"files": found}), content_type="application/json")

    async def file(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send the bytes of one file."""
        folder, names = await self._look()
        name = request.path.removeprefix("/journal/")
        if name not in names:
            raise web.HTTPNotFound
        try:
            file = await asyncio.to_thread((folder / name).open, "rb")
        except FileNotFoundError:  # it is sealed, or deleted, since then
            raise web.HTTPNotFound from None
        response = stream_answer({"Content-Type": "application/octet-stream"})
        with file:
            left = os.fstat(file.fileno()).st_size
            response.content_length = left
            await response.prepare(request)
            while left and request.method != "HEAD":
                piece = await asyncio.to_thread(file.read, min(left, PIECE_BYTES))
                if not piece:
                    raise ConnectionResetError("the file has become shorter")
                left -= len(piece)
                await response.write(piece)
        return response

    async def _look(self) -> tuple[Path, list[str]]:
        found = self._files()
        if found is None:
            raise web.HTTPNotFound
        folder, names = found
        return folder, await asyncio.to_thread(names)


class PageSources(Struct, frozen=True, kw_only=True):
    """Functions and objects that give the pages their content."""

    metrics: StatsSource
    """Returns the present numbers."""
    health: HealthSource
    """Returns the present state."""
    nsaddr: Callable[[], str]
    """Returns the list `host:port;host:port` for clients; empty if there is none."""
    nsaddr_subgroup: str = "nsaddr"
    """Last part of a further path of that list, as clients have it in `rocketmq.namesrv.domain.subgroup`."""
    watch: WatchSource
    """Gives watchers the changes of routes, and their revision."""
    who_knows: Callable[[str], WhoKnows] | None = None
    """Returns the connections that looked up a topic; None if the server does not remember lookups."""
    journal: Callable[[], JournalStats | None] = lambda: None
    """Returns the numbers of the journal; None without one."""
    journal_files: JournalFiles = lambda: None
    """Returns the journal's files."""
    console: ConsoleProcess | None = None
    """Shows browsers the state and the history; None: `/` is the list of pages for them, too."""


class PageAccess(Struct, frozen=True, kw_only=True):
    """Checks of a client before it gets a page, and TLS."""

    refuse: Callable[[Peer, str | None], str | None] = lambda _client, _token: None
    """Why a client may not read a page, by its connection and its token; None if it may."""
    policy: Callable[[], AccessPolicy] | None = None
    """Returns the access rules, whose users show their keys as tokens; None: there are none."""
    names: Collection[str] = ()
    """Names that browsers may use, besides addresses, `localhost` and the name of this host."""
    tls: TlsContexts | None = None
    """Gives the TLS context; None: plain HTTP."""


class OperatorHttpServer:
    """Serves operators while it is entered; an async context manager.

    Args:
        host: address on which it listens.
        port: its port; 0 picks a free one.
        sources: the sources of the pages.
        access: the access to the pages.
    """

    def __init__(self, host: str, port: int, sources: PageSources, access: PageAccess = PageAccess()) -> None:
        self._host = host
        self._port = port
        self._sources = sources
        self._refuse = refuse = access.refuse
        watch, who_knows, console = sources.watch, sources.who_knows, sources.console
        self.watch_page = WatchPage(watch, refuse=refuse)
        self._console_page = None if console is None else ConsolePage(console, refuse, who_knows)
        files = JournalPage(sources.journal_files)
        watchers = Slots[Connection](watch.limit)
        self._pages = {
            "/": Page(self._index),
            "/metrics": Page(self._get_metrics),
            **health_pages(sources.health, self._more),
            "/status": Page(self._get_status),
            "/watch": Page(
                self.watch_page.answer, stream=watchers, answers_head=False, full=WatchRefusal.FULL.value
            ),
            "/who-knows": Page(self._get_who_knows),
            "/journal": Page(files.names),
        }
        self._journal_file = Page(files.file, stream=Slots[Connection](FILES_LIMIT))
        self._nsaddr_page = Page(self._get_nsaddr, Guard.OPEN)
        # With a unit name clients append `-<unit>?nofix=1`: the list is the same for all (protocol.md 6.8).
        self._nsaddr_path = re.compile(
            rf"/rocketmq/(?:nsaddr|{re.escape(sources.nsaddr_subgroup)})(?:-[^/]*)?/?"
        )
        here = socket.gethostname().lower()
        doors = Doors(
            host,
            frozenset(map(str.lower, access.names)),
            own_names=frozenset({here, here.partition(".")[0], "localhost"}),  # the last for forwarded ports
            policy=access.policy,
            remedy="open it by the address of this host, or set httpHostNames",
        )
        self._metrics_turns = HostTurns(1)
        """Rendering of metrics: several threads at once would keep the event loop waiting."""
        self._server = PageServer(
            self._find, doors, self._refused, style=TEXTS, finish=self._add_revision, tls=access.tls,
            nothing="nothing at {}; / lists what there is".format,
        )  # fmt: skip

    @property
    def port(self) -> int | None:
        """The port on which it listens; None when it does not."""
        return self._server.port

    async def __aenter__(self) -> Self:
        """Listen; if that is impossible, warn once and go on without HTTP pages."""
        try:
            await self._server.listen(self._host, self._port)
        except OSError as error:
            log.warning(
                "no HTTP pages for operators: can't listen at %s:%d: %s; choose another httpPort, or -1",
                self._host, self._port, error.strerror or error, extra=ON_CONSOLE,
            )  # fmt: skip
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop serving; may be called twice."""
        await self._server.stop_listening()
        self.watch_page.close()
        if self._console_page is not None:
            await self._console_page.close()
        await self._server.close()

    def _find(self, request: web.BaseRequest) -> Page | None:
        path = request.path
        if self._console_page is not None:
            page = self._console_page.find(request)
            if page is not None:
                return page
        if path.startswith("/journal/"):
            return self._journal_file
        if self._nsaddr_path.fullmatch(path):
            return self._nsaddr_page
        return self._pages.get(path)

    def _refused(self, request: web.BaseRequest, tokens: list[str]) -> str | None:
        return self._refuse(client_of(request), tokens[0] if tokens else None)

    def _add_revision(self, response: web.StreamResponse) -> None:
        revision = self._sources.watch.revision()
        if revision is not None:
            response.headers.setdefault(REVISION_HEADER, revision)

    async def _index(self, _request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=_INDEX)

    async def _get_metrics(self, request: web.BaseRequest) -> web.Response:
        accept = request.headers.get("Accept", "")
        async with self._metrics_turns.of(request.remote or ""):
            body, content_type = await asyncio.to_thread(render_metrics, self._sources.metrics(), accept)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _get_status(self, _request: web.BaseRequest) -> web.Response:
        health = health_of(self._sources.health())
        members = {"status": health.status, "ready": health.ready, "reasons": health.reasons}
        parts = {"journal": self._sources.journal(), "lookups": self._sources.metrics().lookups}
        return json_answer(200, {"version": __version__, **members, **self._more(health), **parts})

    def _more(self, health: Health) -> dict[str, object]:
        return {"restored": health.restored, "revision": self._sources.watch.revision()}

    async def _get_who_knows(self, request: web.BaseRequest) -> web.Response:
        if self._sources.who_knows is None:
            return text_answer(404, "look-ups are not remembered: set rememberLookups=true")
        topic = request.query.get("topic")
        if not topic:
            return text_answer(400, "say which topic: /who-knows?topic=A")
        return json_answer(200, self._sources.who_knows(topic))

    async def _get_nsaddr(self, _request: web.BaseRequest) -> web.Response:
        addresses = self._sources.nsaddr()
        if not addresses:
            return text_answer(404, "no address list: set addressServerList")
        return text_answer(200, addresses)
