"""The HTTP server for operators: metrics, health, the address list; read only, never in the way of routing.

It runs in the loop of the name server and is started after the data port answers. What goes wrong with it is
a warning: a name server without its HTTP pages is still a name server.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, cast

import msgspec
from aiohttp import web

from namekeeper import __version__
from namekeeper.http.health import HealthSource, health_of
from namekeeper.http.metrics import render_metrics
from namekeeper.http.stats import JournalStats, StatsSource

__all__ = ["OperatorHttpServer"]

log = logging.getLogger("namekeeper.http")

SHUTDOWN_SECONDS = 1.0
"""How long requests under way may take when the server stops: they are all short."""
MAX_CONNECTIONS = 64
"""There are a few scrapers and people; each connection costs a descriptor that brokers may need. At the limit
the connection that has waited longest without a request is closed for the new one."""
REQUEST_SECONDS = 5.0
"""How long a connection may take to send its request."""
CONNECTION_SECONDS = 30.0
"""Each connection carries one request, which takes milliseconds."""
MAX_REQUEST_LINE_BYTES = 4_096
MAX_REQUEST_BODY_BYTES = 1_024
"""Nobody sends a body here."""

_INDEX = """\
namekeeper, a RocketMQ name server

/metrics           for Prometheus
/healthz           200 while the process runs
/readyz            200 while clients should use it; ?strict=1 counts degraded as not ready
/status            version, health and journal as JSON
/rocketmq/nsaddr   the address list that clients without one ask for
"""

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
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        metrics: StatsSource,
        health: HealthSource,
        nsaddr: Callable[[], str],
        journal: Callable[[], JournalStats | None] = lambda: None,
    ) -> None:
        self._host = host
        self._port = port
        self._metrics = metrics
        self._health = health
        self._nsaddr = nsaddr
        self._journal = journal
        self._gate: _Gate | None = None
        self._runner: web.AppRunner | None = None
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int | None:
        """The port that it listens at; None when it does not."""
        return self._server.sockets[0].getsockname()[1] if self._server is not None else None

    async def __aenter__(self) -> Self:
        """Listen; if that is impossible, warn once and go on without."""
        runner = web.AppRunner(
            self._application(), access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_SECONDS,
            max_line_size=MAX_REQUEST_LINE_BYTES, max_field_size=MAX_REQUEST_LINE_BYTES,
        )  # fmt: skip
        await runner.setup()
        assert runner.server is not None
        self._gate = gate = _Gate(runner.server)
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(gate, self._host, self._port)
        except OSError as error:
            log.warning(
                "no HTTP pages for operators: can't listen at %s:%d: %s; choose another httpPort, or -1",
                self._host, self._port, error.strerror or error,
            )  # fmt: skip
            await runner.cleanup()
        else:
            self._runner = runner
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop serving; may be called twice."""
        server, self._server = self._server, None
        runner, self._runner = self._runner, None
        if server is not None:
            server.close()
        if runner is not None:
            await runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application(
            middlewares=[self._note_request, _plain_errors], client_max_size=MAX_REQUEST_BODY_BYTES
        )
        application.router.add_get("/", self._index)
        application.router.add_get("/metrics", self._get_metrics)
        application.router.add_get("/healthz", self._get_healthz)
        application.router.add_get("/readyz", self._get_readyz)
        application.router.add_get("/status", self._get_status)
        # With a unit name clients append `-<unit>?nofix=1`: the list is the same for all (protocol.md 6.8).
        application.router.add_get(r"/rocketmq/nsaddr{unit:(-[^/]*)?}", self._get_nsaddr)
        return application

    @web.middleware
    async def _note_request(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if self._gate is not None:
            self._gate.note_request(request.protocol)
        return await handler(request)

    async def _index(self, _request: web.Request) -> web.Response:
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
        value = {
            "status": health.status,
            "ready": health.ready,
            "reasons": health.reasons,
            "restored": health.restored,
        }
        return _json(health.http_status, value)

    async def _get_status(self, _request: web.Request) -> web.Response:
        health = health_of(self._health())
        value = {
            "version": __version__,
            "status": health.status,
            "ready": health.ready,
            "reasons": health.reasons,
            "restored": health.restored,
            "journal": self._journal(),
        }
        return _json(200, value)

    async def _get_nsaddr(self, _request: web.Request) -> web.Response:
        addresses = self._nsaddr()
        if not addresses:
            return _text(404, "no address list: set addressServerList")
        return _text(200, addresses)


class _Gate:
    """Lets a bounded number of connections in, each for a bounded time: aiohttp has no limit for either."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._idle: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        """Connections that have sent no request yet, oldest first; each with the end of its patience."""

    def __call__(self) -> asyncio.BaseProtocol:
        """Make the protocol of a new connection."""
        if len(self._server.connections) >= MAX_CONNECTIONS and not self._close_an_idle_one():
            return _Refusal()
        loop = asyncio.get_running_loop()
        handler = self._server()
        self._idle[handler] = loop.call_later(REQUEST_SECONDS, self._close_idle, handler)
        loop.call_later(CONNECTION_SECONDS, _abort, handler)
        return handler

    def note_request(self, handler: web.RequestHandler) -> None:
        """Note that a connection has sent its request."""
        timer = self._idle.pop(handler, None)
        if timer is not None:
            timer.cancel()

    def _close_an_idle_one(self) -> bool:
        """Close the oldest connection without a request; return whether there was one."""
        while self._idle:
            handler = next(iter(self._idle))
            is_open = handler.transport is not None
            self._close_idle(handler)
            if is_open:
                return True
        return False

    def _close_idle(self, handler: web.RequestHandler) -> None:
        self.note_request(handler)
        _abort(handler)


class _Refusal(asyncio.Protocol):
    """A connection beyond the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it at once."""
        cast("asyncio.Transport", transport).abort()  # uvloop's is no subclass of it


def _abort(handler: web.RequestHandler) -> None:
    if handler.transport is not None:
        handler.transport.abort()


@web.middleware
async def _plain_errors(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Answer wrong requests in a line of text, and a bug with 500, logged; one request to a connection."""
    try:
        response = await handler(request)
    except web.HTTPNotFound:
        response = _text(404, f"nothing at {request.path}; / lists what there is")
    except web.HTTPMethodNotAllowed as error:
        response = _text(405, f"{request.method} is not allowed: these pages are read only")
        response.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
    except Exception:
        log.exception("the HTTP page %s failed", request.path)
        response = _text(500, "this page failed; the log says why")
    response.force_close()
    return response


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n", headers={"Content-Type": _TEXT})


def _json(status: int, value: object) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), content_type="application/json")
