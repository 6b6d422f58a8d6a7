"""Requests a page of an operators' HTTP port: with a bearer token, and over TLS for `https`.

Any peer may send the answer. It arrives in pieces, has a limit, and must not trickle.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Mapping
from importlib import import_module
from typing import IO, Any, TypeVar

from msgspec import Struct

from namekeeper.remoting.tls_client import Tls, present_context

__all__ = ["ANSWER_BYTES", "PageAnswer", "SentBody", "ask_page"]

ANSWER_BYTES = 16 << 20
"""Bytes of an answer that is kept in memory. The largest is a list of 100,000 files of a journal."""
REFUSAL_BYTES = 64 << 10
"""Bytes kept of an answer with an error; its first line has the reason."""
LEAST_BYTES_A_SECOND = 4 << 10
"""The client gives a slower answer up, after the time of one pause: it may have no end."""

_T = TypeVar("_T")

TURNS_LIMIT = 20
"""Most event-loop iterations to wait until a connection that has ended is closed: it takes three."""


class PageAnswer(Struct, frozen=True):
    """The answer, with any status."""

    status: int
    """The HTTP status."""
    body: bytes

    @property
    def text(self) -> str:
        """The body as one message; bytes that are no UTF-8 are replaced."""
        return self.body.decode(errors="replace").strip()


class SentBody(Struct, frozen=True):
    """A request that changes something; its body is sent when the server asks for it."""

    method: str
    data: bytes
    content_type: str
    headers: Mapping[str, str] = {}


async def ask_page(  # noqa: PLR0913 - the parts of a request and the limits of its answer
    url: str,
    *,
    token: str,
    tls: Tls | None,
    pause_seconds: float,
    limit: int = ANSWER_BYTES,
    into: IO[bytes] | None = None,
    sent: SentBody | None = None,
) -> PageAnswer:
    """Send one request, and wait for the complete answer.

    The token goes to this address and to no other: the client follows no redirects, and uses no proxies that
    the environment names. The body comes as the server has it: a compressed file stays compressed.

    Args:
        url: of the page, see `PageAddress.url`.
        token: sent as bearer token; empty: none.
        tls: for `https`; None: the authorities of the system count.
        pause_seconds: the body must begin within this time, and then each piece of it must come within it.
        limit: most bytes of the body.
        into: gets the body of an answer with status 200, which is then not in the result.
        sent: what the request changes something with; None: it is a GET.

    Raises:
        OSError: there is no answer, or it is incomplete, too large or too slow, or `into` can't be written;
            the message has the reason.
    """
    sockets = _Sockets()
    # The import takes a fifth of a second, and most processes request no page.
    aiohttp = await asyncio.to_thread(import_module, "aiohttp")
    timeout = aiohttp.ClientTimeout(total=None)  # interim answers would prolong the time of aiohttp
    headers = {"Accept-Encoding": "identity"}
    if sent is not None:
        headers |= {"Content-Type": sent.content_type, **sent.headers}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    start = asyncio.get_running_loop().time()
    try:
        connector = aiohttp.TCPConnector(socket_factory=sockets.new)
        async with (
            aiohttp.ClientSession(
                connector=connector, headers=headers, timeout=timeout, auto_decompress=False
            ) as session,
            await _until(
                start + pause_seconds,  # for the connection and the head
                session.request(
                    "GET" if sent is None else sent.method,
                    url,
                    data=None if sent is None else sent.data,
                    ssl=await present_context(tls) or True,
                    allow_redirects=False,
                    expect100=sent is not None,
                ),
            ) as response,
        ):
            pieces = _paced(response.content.iter_any(), start, pause_seconds)
            if response.status != 200:
                return PageAnswer(response.status, await _beginning(pieces))
            body = bytearray()
            async for piece in _limited(pieces, limit):
                if into is None:
                    body += piece
                else:
                    await asyncio.to_thread(into.write, piece)
            return PageAnswer(response.status, bytes(body))
    except TimeoutError:
        raise OSError("no answer in time") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise OSError(str(error) or "no answer") from None
    finally:
        await sockets.close()


async def _until(due: float, result: Awaitable[_T]) -> _T:
    """The result, or TimeoutError: a head, or what is between two pieces, may have no end."""
    async with asyncio.timeout_at(due):
        return await result


async def _paced(pieces: AsyncIterator[bytes], start: float, pause_seconds: float) -> AsyncIterator[bytes]:
    """The same pieces, as long as they come fast enough since the start of the request."""
    loop = asyncio.get_running_loop()
    due, received = start + pause_seconds, 0
    while (piece := await _until(due, anext(pieces, None))) is not None:
        received += len(piece)
        if loop.time() - start > pause_seconds + received / LEAST_BYTES_A_SECOND:
            raise OSError(f"the answer comes too slowly: {received} bytes so far")
        yield piece
        due = loop.time() + pause_seconds


async def _limited(pieces: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    """The same pieces, as long as they are within the limit."""
    received = 0
    async for piece in pieces:
        received += len(piece)
        if received > limit:
            raise OSError(f"the answer is too large: more than {limit} bytes")
        yield piece


async def _beginning(pieces: AsyncIterator[bytes]) -> bytes:
    """The first bytes of an answer with an error."""
    kept = bytearray()
    async for piece in pieces:
        kept += piece
        if len(kept) >= REFUSAL_BYTES:
            break
    return bytes(kept[:REFUSAL_BYTES])


class _Sockets:
    """The sockets of one request.

    Once an answer is complete, aiohttp forgets its connection, while TLS still waits for the server to end
    it. A program that ends then leaves an open connection, and Python warns of it.
    """

    def __init__(self) -> None:
        self._opened: list[socket.socket] = []

    def new(self, addr_info: tuple[Any, ...]) -> socket.socket:
        """Open a socket for an entry of `getaddrinfo`."""
        opened = socket.socket(*addr_info[:3])
        self._opened.append(opened)
        return opened

    async def close(self) -> None:
        """End the open connections, as if the server had, and let the loop see it."""
        for opened in self._opened:
            with contextlib.suppress(OSError):  # it is closed, or was never connected
                opened.shutdown(socket.SHUT_RDWR)
        for _ in range(TURNS_LIMIT):
            if all(opened.fileno() < 0 for opened in self._opened):
                return
            await asyncio.sleep(0)
