"""The HTTP server for operators: metrics, health, the address list; read only, never in the way of routing.

It runs in the loop of the name server, after the data port answers; if it fails, routing goes on.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from types import TracebackType
from typing import Self

import msgspec
from aiohttp import web

from namekeeper import __version__
from namekeeper.access.peer import Peer
from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.http.console_page import ConsolePage
from namekeeper.http.console_process import ConsoleProcess
from namekeeper.http.doors import Doors
from namekeeper.http.gate import Gate
from namekeeper.http.health import Health, HealthSource, health_of
from namekeeper.http.journal_page import JournalFiles, JournalPage
from namekeeper.http.listener import PageListener
from namekeeper.http.metrics import render_metrics
from namekeeper.http.page_clients import client_of, token_of
from namekeeper.http.page_files import send_page_file
from namekeeper.http.stats import JournalStats, StatsSource
from namekeeper.http.watch import REVISION_HEADER, WatchPage
from namekeeper.http.watchers import WatchSource, WhoKnows
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.tls import TlsContexts

__all__ = ["OperatorHttpServer"]

log = logging.getLogger("namekeeper.http")
_log_limit = LogLimit(log)

SHUTDOWN_SECONDS = 1.0
"""How long requests under way may take when the server stops."""
MAX_REQUEST_LINE_BYTES = 4_096
MAX_REQUEST_BODY_BYTES = 1_024
"""Largest body of a request: no page takes one."""

_INDEX = """\
namekeeper, a RocketMQ name server

/                  in a browser: what is there, what happened, why
/metrics           for Prometheus
/healthz           200 while the process runs
/readyz            200 while clients should use it; ?strict=1 counts degraded as not ready
/status            version, health, journal and look-ups as JSON
/watch?topic=NAME  changes of routes as they happen: ?after=REVISION waits; text/event-stream streams
/who-knows?topic=  which connections have asked since the last change (rememberLookups)
/journal           names of the files of the journal; /journal/NAME is one of them
/rocketmq/nsaddr   the address list that clients without one ask for
"""

OPEN_PAGES = ("/healthz", "/readyz", "/rocketmq/nsaddr")
"""Pages that need no token: for probes, and for clients that look for name servers."""

_TEXT = "text/plain; charset=utf-8"
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class OperatorHttpServer:
    """Serves operators while it is entered; an async context manager.

    Args:
        host: address to listen at.
        port: its port; 0 picks a free one.
        metrics: gives the numbers of now.
        health: gives the state of now.
        nsaddr: gives the list `host:port;host:port` for clients; empty if there is none.
        journal: gives the numbers of the journal; None without one.
        journal_files: gives its files.
        watch: gives the changes of routes to who watches, and their revision.
        who_knows: gives the connections that have asked for a topic; None if they are not remembered.
        refuse: says why a client may not read a page, by its connection and its token; None if it may.
        console: shows browsers what happens here; None: `/` is the list of pages for them, too.
        names: by which browsers may come, besides addresses, `localhost` and the name of this host.
        tls: gives the TLS context; None: plain HTTP.
    """

    def __init__(  # noqa: PLR0913 - each is a page's source, by name
        self,
        host: str,
        port: int,
        *,
        metrics: StatsSource,
        health: HealthSource,
        nsaddr: Callable[[], str],
        watch: WatchSource,
        who_knows: Callable[[str], WhoKnows] | None = None,
        journal: Callable[[], JournalStats | None] = lambda: None,
        journal_files: JournalFiles = lambda: None,
        refuse: Callable[[Peer, str | None], str | None] = lambda _client, _token: None,
        console: ConsoleProcess | None = None,
        names: Collection[str] = (),
        tls: TlsContexts | None = None,
    ) -> None:
        self._host = host
        self._port = port
        self._metrics = metrics
        self._health = health
        self._nsaddr = nsaddr
        self._journal = journal
        self._journal_files = journal_files
        self._refuse = refuse
        self._watch = watch
        self._who_knows = who_knows
        self.watch_page = WatchPage(watch, keep=self._keep, refuse=refuse)
        self._console_page = None if console is None else self._page_of(console, names)
        self._tls = tls
        self._gate: Gate | None = None
        self._runner: web.AppRunner | None = None
        self._listener: PageListener | None = None

    @property
    def port(self) -> int | None:
        """The port that it listens at; None when it does not."""
        return self._listener.port if self._listener is not None else None

    async def __aenter__(self) -> Self:
        """Listen; if that is impossible, warn once and go on without HTTP pages."""
        runner = web.AppRunner(
            self._application(), access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_SECONDS,
            max_line_size=MAX_REQUEST_LINE_BYTES, max_field_size=MAX_REQUEST_LINE_BYTES,
            handler_cancellation=True,
        )  # fmt: skip
        await runner.setup()
        assert runner.server is not None
        self._gate = Gate(runner.server)
        listener = PageListener(self._gate, self._tls)
        try:
            await listener.listen(self._host, self._port)
        except OSError as error:
            log.warning(
                "no HTTP pages for operators: can't listen at %s:%d: %s; choose another httpPort, or -1",
                self._host, self._port, error.strerror or error, extra=ON_CONSOLE,
            )  # fmt: skip
            await runner.cleanup()
        else:
            self._runner, self._listener = runner, listener
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop serving; may be called twice."""
        listener, self._listener = self._listener, None
        runner, self._runner = self._runner, None
        if listener is not None:
            await listener.close()
        self.watch_page.close()
        if self._console_page is not None:
            await self._console_page.close()
        if runner is not None:
            await runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application(
            middlewares=[self._note_request, self._add_revision, _plain_errors, self._judge],
            client_max_size=MAX_REQUEST_BODY_BYTES,
        )
        application.router.add_get("/", self._index)
        application.router.add_get("/metrics", self._get_metrics)
        application.router.add_get("/healthz", self._get_healthz)
        application.router.add_get("/readyz", self._get_readyz)
        application.router.add_get("/status", self._get_status)
        application.router.add_get("/watch", self.watch_page.answer, allow_head=False)
        application.router.add_get("/who-knows", self._get_who_knows)
        files = JournalPage(self._journal_files)
        application.router.add_get("/journal", files.names)
        application.router.add_get("/journal/{name}", files.file)
        if self._console_page is not None:
            self._console_page.add_routes(application.router)
        # With a unit name clients append `-<unit>?nofix=1`: the list is the same for all (protocol.md 6.8).
        application.router.add_get(r"/rocketmq/nsaddr{unit:(-[^/]*)?}", self._get_nsaddr)
        return application

    @web.middleware
    async def _note_request(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if self._gate is not None:
            self._gate.note_request(request.protocol)
        return await handler(request)

    @web.middleware
    async def _add_revision(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        response = await handler(request)
        revision = self._watch.revision()
        if revision is not None and not response.prepared:
            response.headers.setdefault(REVISION_HEADER, revision)
        return response

    def _page_of(self, console: ConsoleProcess, names: Collection[str]) -> ConsolePage:
        here = socket.gethostname()
        all_names = {here, here.partition(".")[0], "localhost", *names}  # localhost for forwarded ports
        doors = Doors(
            self._host,
            frozenset(map(str.lower, all_names)),
            remedy="open it by the address of this host, or set httpHostNames",
        )
        return ConsolePage(console, doors, self._refuse, self._keep, self._who_knows)

    def _keep(self, request: web.Request) -> Callable[[], None]:
        assert self._gate is not None
        self._gate.keep(request.protocol)
        return partial(self._gate.release, request.protocol)

    @web.middleware
    async def _judge(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        page = self._console_page
        if page is not None and (page.is_open(request.path) or _wants_page(request)):
            return await handler(request)
        if not request.path.startswith(OPEN_PAGES):
            reason = self._refuse(client_of(request), token_of(request) or None)
            if reason is not None:
                return _text(403, reason)
        return await handler(request)

    async def _index(self, request: web.Request) -> web.StreamResponse:
        if self._console_page is not None and _wants_page(request):
            return await send_page_file(request)
        return web.Response(text=_INDEX)

    async def _get_metrics(self, request: web.Request) -> web.Response:
        stats = self._metrics()
        accept = request.headers.get("Accept", "")
        body, content_type = await asyncio.to_thread(render_metrics, stats, accept)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _get_healthz(self, _request: web.Request) -> web.Response:
        return _json(200, {"status": "ok"})

    async def _get_readyz(self, request: web.Request) -> web.Response:
        strict = request.query.get("strict", "").lower() in {"1", "true"}
        health = health_of(self._health(), strict=strict)
        return _json(health.http_status, self._members(health))

    async def _get_status(self, _request: web.Request) -> web.Response:
        members = self._members(health_of(self._health()))
        parts = {"journal": self._journal(), "lookups": self._metrics().lookups}
        return _json(200, {"version": __version__, **members, **parts})

    def _members(self, health: Health) -> dict[str, object]:
        return {
            "status": health.status,
            "ready": health.ready,
            "reasons": health.reasons,
            "restored": health.restored,
            "revision": self._watch.revision(),
        }

    async def _get_who_knows(self, request: web.Request) -> web.Response:
        if self._who_knows is None:
            return _text(404, "look-ups are not remembered: set rememberLookups=true")
        topic = request.query.get("topic")
        if not topic:
            return _text(400, "say which topic: /who-knows?topic=A")
        return _json(200, self._who_knows(topic))

    async def _get_nsaddr(self, _request: web.Request) -> web.Response:
        addresses = self._nsaddr()
        if not addresses:
            return _text(404, "no address list: set addressServerList")
        return _text(200, addresses)


def _wants_page(request: web.Request) -> bool:
    """Whether a browser opens the page; a terminal gets the list of pages."""
    return request.path == "/" and "text/html" in request.headers.get("Accept", "")


@web.middleware
async def _plain_errors(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Answer a wrong request with a line of text, a bug with 500; close after each request."""
    try:
        response = await handler(request)
    except web.HTTPNotFound:
        response = _text(404, f"nothing at {request.path}; / lists what there is")
    except web.HTTPMethodNotAllowed as error:
        response = _text(405, f"{request.method} is not allowed: these pages are read only")
        response.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
    except Exception as error:  # noqa: BLE001 - a bug of one page; the others go on
        _log_limit.log(logging.ERROR, "the HTTP page %s failed", request.path, error=error)
        response = _text(500, "this page failed; the log says why")
    response.force_close()
    return response


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n", headers={"Content-Type": _TEXT})


def _json(status: int, value: object) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), content_type="application/json")
