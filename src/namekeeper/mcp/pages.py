"""The tools over HTTP: one page of the project's own HTTP server, behind the guards of the console.

The transport is *streamable HTTP* without sessions and streams: each message is a POST, its answer JSON. So
each one passes the guards, and nothing is kept between two.
"""

import asyncio
import contextlib
import logging
from collections.abc import MutableMapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from namekeeper.access.signature import user_of_key
from namekeeper.common.printable import printable
from namekeeper.http.doors import Doors
from namekeeper.http.gate import Connection
from namekeeper.http.page_clients import client_of, token_of
from namekeeper.http.page_files import PAGE_HEADERS
from namekeeper.http.page_server import PageServer
from namekeeper.http.page_table import PROBLEMS, Page
from namekeeper.http.slots import Slots
from namekeeper.mcp.server import ASKER
from namekeeper.remoting.log_limit import LogLimit

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

__all__ = ["PATH", "AssistantPages"]

log = logging.getLogger("namekeeper.mcp")

PATH = "/mcp"
MESSAGE_BYTES = 32 * 1024
"""Longest message of a client: the longest question has a name of a few hundred bytes."""
CONNECTIONS_LIMIT, CONNECTIONS_OF_HOST = 32, 16
"""Messages that wait for their answers, in all and of one host."""


class AssistantPages:
    """Serves assistants while it is entered; an async context manager.

    Args:
        host: the address at which it listens.
        port: its port; 0 picks a free one.
        doors: decides who may ask.
        server: answers.
    """

    def __init__(self, host: str, port: int, doors: Doors, server: "Server") -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        self._host, self._wanted_port = host, port
        self._doors = doors
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MESSAGE_BYTES
        )
        slots = Slots[Connection](CONNECTIONS_LIMIT, CONNECTIONS_OF_HOST)
        page = Page(self._answer, style=PROBLEMS, method="POST", body_bytes=MESSAGE_BYTES, stream=slots)
        self._server = PageServer(
            lambda request: page if request.path == PATH else None, doors, self._refused, style=PROBLEMS,
            finish=_add_headers, nothing=f"there is nothing at {{}}: assistants ask at {PATH}".format,
        )  # fmt: skip
        self._log_limit = LogLimit(log)
        self._running = contextlib.AsyncExitStack()

    @property
    def port(self) -> int:
        """The port at which it listens."""
        port = self._server.port
        assert port is not None
        return port

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            ConfigError: it can't listen there.
        """
        await self._server.listen_as_asked(self._host, self._wanted_port)
        await self._running.enter_async_context(self._manager.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._server.close()
        await self._running.aclose()

    def _refused(self, request: web.BaseRequest, tokens: list[str]) -> str | None:
        client = client_of(request)
        reason = self._doors.refuse_token(tokens) or self._doors.refuse_peer(client, tokens)
        if reason is not None:
            self._log_limit.log(logging.WARNING, "%s is refused: %s", printable(str(client.address)), reason)
        return reason

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Have the SDK answer a message: it is an ASGI application."""
        answer = web.Response()
        parts: list[bytes] = []
        messages = [{"type": "http.request", "body": await request.read(), "more_body": False}]

        async def receive() -> MutableMapping[str, Any]:
            if messages:
                return messages.pop()
            await asyncio.Event().wait()  # a client that leaves ends the task
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answer.set_status(message["status"])
                for name, value in message.get("headers", ()):
                    answer.headers[name.decode("latin-1")] = value.decode("latin-1")
            else:
                parts.append(message.get("body", b""))

        await self._manager.handle_request(self._scope(request), receive, send)
        answer.body = b"".join(parts)
        return answer

    def _scope(self, request: web.BaseRequest) -> dict[str, Any]:
        headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
            "scheme": "http", "path": PATH, "raw_path": PATH.encode(), "root_path": "", "query_string": b"",
            "headers": headers, "client": (request.remote or "", 0), "server": None,
            ASKER: self._asker(request),
        }  # fmt: skip

    def _asker(self, request: web.BaseRequest) -> str:
        """The client, and the user whose key it shows."""
        policy = self._doors.policy
        user = None if policy is None else user_of_key(token_of(request), policy().keys)
        return printable(f"{request.remote}{f', user {user}' if user else ''}")


def _add_headers(response: web.StreamResponse) -> None:
    response.headers.update(PAGE_HEADERS)
    if response.status == PROBLEMS.refused:
        response.headers["WWW-Authenticate"] = "Bearer"
