"""Serves a table of pages over HTTP: one set of guards for the operators' port and for the console.

Each request passes the same checks in the same order: its form, the host name, the access rules, the method,
the origin, the body, a slot to be answered. The first check that fails makes the answer.
"""

import asyncio
import errno
import logging
from collections.abc import Callable
from typing import Any

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from namekeeper.errors import ConfigError
from namekeeper.http.doors import COOKIE, Doors
from namekeeper.http.gate import Connection, Gate
from namekeeper.http.listener import PageListener
from namekeeper.http.page_clients import token_of
from namekeeper.http.page_table import UNASKED_BYTES, Guard, Page, Refuse, Style
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.tls import TlsContexts

__all__ = ["PageServer"]

log = logging.getLogger("namekeeper.http")
_log_limit = LogLimit(log)

SHUTDOWN_SECONDS = 1.0
"""Time limit of requests under way when the server stops."""
LINGER_SECONDS = 1.0
"""Time in which a peer may send a body that no page wants: it gets the answer before the connection ends."""
MAX_REQUEST_LINE_BYTES = 8_192
"""Longest request line and longest header."""
MAX_HEADERS = 64

_METHODS = ("GET", "HEAD", "OPTIONS")
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


class PageServer:
    """Answers requests between `listen` and `close`.

    Args:
        find: returns the page for a request; None if there is none.
        doors: checks host names and origins.
        refuse: checks the peers of pages with `Guard.JUDGED`.
        style: the form of refusals where there is no page.
        nothing: the sentence about a path without a page.
        finish: adds headers to each answer.
        tls: gives the TLS context; None: plain HTTP.
    """

    def __init__(  # noqa: PLR0913 - what differs between the two servers
        self,
        find: Callable[[web.BaseRequest], Page | None],
        doors: Doors,
        refuse: Refuse,
        *,
        style: Style,
        nothing: Callable[[str], str],
        finish: Callable[[web.StreamResponse], None],
        tls: TlsContexts | None = None,
    ) -> None:
        self._find = find
        self._doors = doors
        self._refuse = refuse
        self._style = style
        self._nothing = nothing
        self._finish = finish
        self._tls = tls
        self.gate: Gate | None = None
        self._server: web.Server | None = None
        self._listener: PageListener | None = None

    @property
    def port(self) -> int | None:
        """The port on which it listens; None when it does not."""
        return self._listener.port if self._listener is not None else None

    async def listen(self, host: str, port: int) -> None:
        """Start to answer.

        Raises:
            OSError: it can't listen there.
        """
        server = web.Server(
            self._handle, request_factory=_request, handler_cancellation=True, access_log=None,
            logger=_parser_log, max_line_size=MAX_REQUEST_LINE_BYTES, max_field_size=MAX_REQUEST_LINE_BYTES,
            max_headers=MAX_HEADERS, auto_decompress=False, lingering_time=LINGER_SECONDS,
        )  # fmt: skip
        gate = Gate(server)
        listener = PageListener(gate, self._tls, count=gate.__len__, evict_one=gate.evict_one)
        await listener.listen(host, port)
        self._server, self.gate, self._listener = server, gate, listener

    async def listen_as_asked(self, host: str, port: int, *, may_move: bool = False) -> None:
        """Start to answer at an address that was given by options.

        Args:
            host: the address.
            port: 0 picks a free one.
            may_move: whether a free port does if another process has the port.

        Raises:
            ConfigError: it can't listen there.
        """
        try:
            try:
                await self.listen(host, port)
            except OSError as error:
                if not may_move or error.errno != errno.EADDRINUSE:
                    raise
                await self.listen(host, 0)
        except OSError as error:
            raise ConfigError(
                f"can't listen at {host}:{port}: {error.strerror or error}; give another --port"
            ) from None

    async def stop_listening(self) -> None:
        """Accept no more connections; may be called twice."""
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()

    async def close(self) -> None:
        """Stop answering; may be called twice."""
        await self.stop_listening()
        server, self._server = self._server, None
        if server is not None and self.gate is not None:
            self.gate.close_readers()
            server.pre_shutdown()
            await server.shutdown(SHUTDOWN_SECONDS)
        if self.gate is not None:
            self.gate.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self.gate is not None
        connection = self.gate.connection_of(request)
        try:
            response = await self._answer(request, connection)
        except ConnectionError:  # the peer has left
            raise
        except Exception as error:  # a bug of one page; the others go on
            _log_limit.log(logging.ERROR, "the HTTP page %s failed", request.path, error=error)
            if request.writer.output_size:
                raise ConnectionResetError("a part of the answer is sent") from error
            response = self._style.answer(500, "this page failed; the log says why")
        finally:
            connection.is_over.set()
        if not response.prepared:
            self._finish(response)
            response.force_close()
        body = response.body if isinstance(response, web.Response) else None
        connection.read(request, len(body) if isinstance(body, bytes) else 0)
        return response

    async def _answer(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        found = self._find(request)
        page = None if found is None else found.page_for(request.method)
        style = self._style if page is None else page.style
        wrong = _wrong_form(request, page)
        if wrong is not None:
            return style.answer(*wrong)
        if request.method == "OPTIONS" and (found is not None or request.raw_path == "*"):
            allowed = _METHODS if found is None else found.methods
            return web.Response(status=204, headers={"Allow": ", ".join(allowed)})
        refused = self._refused(request, page, style)
        if refused is not None:
            return refused
        if page is None or found is None:
            return style.answer(404, self._nothing(request.path))
        if request.method not in page.methods:
            response = style.answer(405, f"{request.method} is not allowed: these pages are read only")
            response.headers["Allow"] = ", ".join(found.methods)
            return response
        return await self._answer_in_turn(request, connection, page)

    def _refused(self, request: web.BaseRequest, page: Page | None, style: Style) -> web.Response | None:
        """The refusal of a request by its host name, or by the access rules; None if it is accepted."""
        guard = Guard.JUDGED if page is None else page.guard
        bearer = token_of(request)
        if guard is not Guard.OPEN:
            reason = self._doors.refuse_host(request.headers.get("Host"), bearer)
            if reason is not None:
                return style.answer(421, reason)
        if guard is Guard.JUDGED:
            tokens = [each for each in (bearer, request.cookies.get(COOKIE, "")) if each]
            refuse = self._refuse if page is None or page.refuse is None else page.refuse
            reason = refuse(request, tokens)
            if reason is not None:
                return style.answer(style.refused, reason)
        return None

    async def _answer_in_turn(
        self, request: web.BaseRequest, connection: Connection, page: Page
    ) -> web.StreamResponse:
        if page.turn is None:
            return await self._answer_page(request, connection, page)
        if page.turn.locked():
            return _full(page)
        async with page.turn:
            return await self._answer_page(request, connection, page)

    async def _answer_page(
        self, request: web.BaseRequest, connection: Connection, page: Page
    ) -> web.StreamResponse:
        if page.guard is Guard.OPEN:
            return await page.answer(request)
        if page.method != "GET":
            wrong = await self._wrong_post(request, connection, page)
            if wrong is not None:
                return page.style.answer(*wrong)
        if request.method == "HEAD" and not page.answers_head:
            return web.Response()
        stream = page.stream
        has_slot = connection.answer() if stream is None else await connection.stream(request, stream)
        if not has_slot:
            return _full(page)
        try:
            return await page.answer(request)
        except web.HTTPNotFound:
            return page.style.answer(404, self._nothing(request.path))

    async def _wrong_post(
        self, request: web.BaseRequest, connection: Connection, page: Page
    ) -> tuple[int, str] | None:
        """Read the body of a request that changes something; return status and sentence if it is refused."""
        reason = self._doors.refuse_origin(request.headers)
        if reason is not None:
            return 403, reason
        if page.content_type not in ("", request.content_type):
            return 415, f"send the body with Content-Type: {page.content_type}"
        connection.wait_for_body(page.body_bytes)
        return await _wrong_body(request)


def _request(head: Any, body: Any, handler: Any, writer: Any, task: Any) -> web.BaseRequest:  # noqa: ANN401
    """A request whose body has the limit of its page, and none of aiohttp."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(head, body, handler, writer, task, loop, client_max_size=0)


def _full(page: Page) -> web.Response:
    response = page.style.answer(503, page.full)
    response.headers["Retry-After"] = "1"
    return response


def _wrong_form(request: web.BaseRequest, page: Page | None) -> tuple[int, str] | None:
    """Status and sentence for a request that no page could answer; None if its form is correct."""
    headers = request.headers
    has_path = request.raw_path.startswith("/") or (request.method, request.raw_path) == ("OPTIONS", "*")
    if not has_path or len(headers.getall("Host", ())) > 1:
        return 400, "a request has a path that begins with a slash, and one Host"
    if not _words(request, "Expect") <= {"100-continue"}:
        return 417, "the only expectation that can be met is 100-continue"
    if not _words(request, "Content-Encoding") <= {"identity"}:
        return 415, "no page takes a compressed body: send it as it is"
    return _wrong_length(request, 0 if page is None else page.body_bytes)


def _wrong_length(request: web.BaseRequest, body_bytes: int) -> tuple[int, str] | None:
    """Status and sentence for a body that is too long, or has no length; None if it is correct."""
    headers, length = request.headers, request.content_length or 0
    if not body_bytes and (length or "Transfer-Encoding" in headers):
        return 400, "this page takes no body: send the request without one"
    if "Transfer-Encoding" in headers:
        return 411, "send the body with its Content-Length"
    if length > body_bytes:
        return 413, f"the body has {body_bytes:,} bytes at most"
    if length > UNASKED_BYTES and not _words(request, "Expect"):
        return 400, f"send a body of more than {UNASKED_BYTES:,} bytes with Expect: 100-continue"
    return None


def _words(request: web.BaseRequest, name: str) -> set[str]:
    """The words of all headers of a name, whose list may have several lines."""
    lines = ",".join(request.headers.getall(name, ()))
    return {word.strip().lower() for word in lines.split(",")} - {""}


async def _wrong_body(request: web.BaseRequest) -> tuple[int, str] | None:
    """Read the body; return status and sentence if it is no text, None if it is correct."""
    if (request.charset or "utf-8").lower() not in _CHARSETS:
        return 415, "send the body as UTF-8"
    if "Expect" in request.headers and request.version >= HttpVersion11:  # an older client waits for none
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        (await request.read()).decode()
    except UnicodeDecodeError:
        return 400, "the body is no UTF-8"
    return None


class _OfServer(logging.Filter):
    """Drops records of peers that send no HTTP: they get 400, and no traceback fills the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is about a bug."""
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_parser_log = logging.getLogger("namekeeper.http.parser")
_parser_log.addFilter(_OfServer())
