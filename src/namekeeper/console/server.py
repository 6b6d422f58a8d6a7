"""The HTTP server of the page: its files, the values that it shows, and a stream that tells when they change.

All requests only read: nothing here changes a name server or a journal. Only a POST sets the cookie of the
token.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import web

from namekeeper.console.histories import FollowedSource, Histories
from namekeeper.console.views import ConsoleViews, Query
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.http.doors import COOKIE, Doors
from namekeeper.http.gate import Gate
from namekeeper.http.page_clients import token_of
from namekeeper.http.page_files import PAGE_FILES, PAGE_HEADERS, problem, send_page_file

__all__ = ["ConsoleServer", "opening_rest"]

log = logging.getLogger("namekeeper.console")

POLL_SECONDS = 0.25
"""Interval at which histories are read again: a change must be visible within a second."""
BEGIN_SECONDS = 2.0
"""How long a page waits for what is found at once; then it is answered with what there is, and told later."""
OPENING_SECONDS = 2.0
"""How long the reading waits at most for pages that were opened before it begins."""
PAUSE_SECONDS = 0.3
"""Least time between two revisions: a page requests its view again at each of them."""
BEAT_SECONDS = 10.0
"""Interval of signs of life in a stream."""
LASTING_LIMIT = 64
"""Pages that listen, and questions that others answer, at a time; each costs a descriptor."""
SHUTDOWN_SECONDS = 1.0
MAX_REQUEST_LINE_BYTES = 8_192
MAX_REQUEST_BODY_BYTES = 1_024

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ConsoleServer:
    """Serves the page while it is entered; an async context manager.

    Args:
        host: the address at which it listens.
        port: its port; 0 picks a free one.
        doors: decides who may use the page.
        histories: what is shown.
        views: what each view shows.
    """

    def __init__(self, host: str, port: int, doors: Doors, histories: Histories, views: ConsoleViews) -> None:
        self._host, self._wanted_port = host, port
        self._doors = doors
        self._histories = histories
        self._views = views
        self._gate: Gate | None = None
        self._runner: web.AppRunner | None = None
        self._server: asyncio.Server | None = None
        self._reading: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._has_begun = asyncio.Event()
        """Set when what is found at once of each history is shown."""
        self._asked_at = 0.0
        """When a page asked, or was answered, last; by the time of the loop."""
        self._is_closed = False
        self._lasting_count = 0

    @property
    def port(self) -> int:
        """The port at which it listens."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        """Listen, and begin to read.

        Raises:
            ConfigError: it can't listen there.
        """
        runner = web.AppRunner(
            self._application(), access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_SECONDS,
            max_line_size=MAX_REQUEST_LINE_BYTES, max_field_size=MAX_REQUEST_LINE_BYTES,
            handler_cancellation=True,
        )  # fmt: skip
        await runner.setup()
        assert runner.server is not None
        self._gate = Gate(runner.server)
        self._runner = runner
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._gate, self._host, self._wanted_port
            )
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(
                f"can't listen at {self._host}:{self._wanted_port}: {error.strerror or error};"
                " give another --port"
            ) from None
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_closed = True
        assert self._server is not None
        assert self._runner is not None
        self._server.close()
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._tell()
        await self._runner.cleanup()

    async def _read(self) -> None:
        """Follow all histories; none is read before what is found at once of each is shown."""
        sources = self._histories.sources
        begins = asyncio.gather(*(asyncio.to_thread(self._histories.begin, each) for each in sources))
        await asyncio.wait([begins], timeout=BEGIN_SECONDS)
        self._has_begun.set()
        if any(await begins):
            await self._tell()
            await self._wait_for_pages()
        await asyncio.gather(*map(self._follow, sources), return_exceptions=True)

    async def _wait_for_pages(self) -> None:
        loop = asyncio.get_running_loop()
        begun_at = self._asked_at = loop.time()
        while True:
            rest = opening_rest(loop.time(), begun_at=begun_at, asked_at=self._asked_at)
            if rest <= 0:
                return
            await asyncio.sleep(rest)

    async def _follow(self, source: FollowedSource) -> None:
        while True:
            if await asyncio.to_thread(self._histories.read, source):
                await self._tell()
            await asyncio.sleep(POLL_SECONDS)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _application(self) -> web.Application:
        application = web.Application(
            middlewares=[self._note_request, self._finish, self._judge],
            client_max_size=MAX_REQUEST_BODY_BYTES,
        )
        for path in PAGE_FILES:
            application.router.add_get(path, send_page_file)
        views = self._views
        for view in (
            views.overview, views.troubles, views.brokers, views.topics, views.changes, views.beside,
            views.topic, views.broker, views.compare, views.search,
        ):  # fmt: skip
            application.router.add_get(f"/api/{view.__name__}", self._answer(view, locked=True))
        for view in (views.why, views.who_knows):
            handler = self._lasting(self._answer(view, locked=False))
            application.router.add_get(f"/api/{view.__name__}", handler)
        application.router.add_get("/api/events", self._lasting(self._events), allow_head=False)
        application.router.add_post("/api/login", self._login)
        return application

    @web.middleware
    async def _note_request(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if self._gate is not None:
            self._gate.note_request(request.protocol)
        loop = asyncio.get_running_loop()
        self._asked_at = loop.time()
        try:
            return await handler(request)
        finally:
            self._asked_at = loop.time()

    @web.middleware
    async def _finish(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Add the headers to every answer, and answer wrong requests with a line that says what to do."""
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = problem(error.status, _HTTP_TEXTS.get(error.status, error.reason))
        except NamekeeperError as error:
            response = problem(400, str(error))
        except Exception:
            log.exception("the page %s failed", request.path)
            response = problem(500, "this view failed; the log of the console says why")
        if not response.prepared:
            response.headers.update(PAGE_HEADERS)
            response.force_close()
        return response

    @web.middleware
    async def _judge(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        reason = self._doors.refuse_host(request.headers.get("Host"))
        if reason is not None:
            return problem(421, reason)
        if request.path.startswith("/api/") and request.path != "/api/login":
            tokens = [request.cookies.get(COOKIE, ""), token_of(request)]
            reason = self._refuse(request, tokens)
            if reason is not None:
                return problem(401, reason)
        return await handler(request)

    def _refuse(self, request: web.Request, tokens: Collection[str]) -> str | None:
        return self._doors.refuse_token(tokens) or self._doors.refuse_peer(request.remote or "", tokens)

    def _answer(self, view: Callable[[Query], dict[str, Any]], *, locked: bool) -> _Handler:
        def body(query: Query) -> bytes:
            if not locked:
                return msgspec.json.encode(view(query))
            with self._histories.lock.to_look():
                return msgspec.json.encode(view(query))

        async def handle(request: web.Request) -> web.StreamResponse:
            if locked:  # who asks earlier would see nothing, and be told only later that there is something
                await self._has_begun.wait()
            data = await asyncio.to_thread(body, dict(request.query))
            return web.Response(body=data, content_type="application/json")

        return handle

    def _lasting(self, handler: _Handler) -> _Handler:
        """The same handler for requests that may take long: the gate ends other connections."""

        async def handle(request: web.Request) -> web.StreamResponse:
            if self._lasting_count >= LASTING_LIMIT:
                return problem(503, "too many pages are open: close some, and try again")
            assert self._gate is not None
            self._lasting_count += 1
            self._gate.keep(request.protocol)
            try:
                return await handler(request)
            finally:
                self._gate.release(request.protocol)
                self._lasting_count -= 1

        return handle

    async def _login(self, request: web.Request) -> web.StreamResponse:
        token = (await request.text()).strip()
        reason = self._refuse(request, [token])
        if reason is not None:
            return problem(401, reason)
        response = web.Response(status=204)
        response.set_cookie(COOKIE, token, httponly=True, samesite="Strict", path="/")
        return response

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Say the revision, at once and whenever it changes; now and then that the console is there."""
        response = web.StreamResponse(headers={**PAGE_HEADERS, "Content-Type": "text/event-stream"})
        with contextlib.suppress(ConnectionError):  # the page was closed
            await response.prepare(request)
            while not self._is_closed:
                revision = self._histories.revision
                await response.write(b"data: %d\n\n" % revision)
                await asyncio.sleep(PAUSE_SECONDS)
                await self._wait_for_change(revision)
        return response

    async def _wait_for_change(self, seen: int) -> None:
        async with self._changed:
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._changed.wait_for(lambda: self._is_closed or self._histories.revision != seen)
            except TimeoutError:
                return


def opening_rest(now: float, *, begun_at: float, asked_at: float) -> float:
    """How long the reading still waits for pages that are being opened: they ask one thing after the other.

    Args:
        now: seconds.
        begun_at: since when there is something to see.
        asked_at: when a page asked, or was answered, last.
    """
    return min(asked_at + POLL_SECONDS, begun_at + OPENING_SECONDS) - now


_HTTP_TEXTS = {404: "there is nothing at this address; / is the page", 405: "these pages are read only"}
