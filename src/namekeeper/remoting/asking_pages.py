"""Asks for a page of an operators' HTTP port: with a bearer token, and over TLS for `https`."""

import asyncio
import contextlib
import socket
from importlib import import_module
from typing import Any

from msgspec import Struct

from namekeeper.remoting.tls_client import Tls, present_context

__all__ = ["PageAnswer", "ask_page"]

TURNS_LIMIT = 20
"""Most turns of the loop to wait until a connection that has ended is closed: it takes three."""


class PageAnswer(Struct, frozen=True):
    """What came back, whatever the status is."""

    status: int
    """The HTTP status."""
    body: bytes

    @property
    def text(self) -> str:
        """The body as one message; what is no UTF-8 is replaced."""
        return self.body.decode(errors="replace").strip()


async def ask_page(url: str, *, token: str, tls: Tls | None, pause_seconds: float) -> PageAnswer:
    """Send one GET, and wait for the whole answer.

    The token goes to this address and to no other: redirects are not followed, and the proxies that the
    environment names are not used. The body comes as the server has it: a compressed file stays compressed.

    Args:
        url: of the page, see `PageAddress.url`.
        token: sent as bearer token; empty: none.
        tls: for `https`; None: the authorities of the system count.
        pause_seconds: the connection, and then each piece of the answer, must come within this time.

    Raises:
        OSError: there is no answer, or it is not whole; the message says why.
    """
    sockets = _Sockets()
    # A fifth of a second to import, and most processes ask for no page.
    aiohttp = await asyncio.to_thread(import_module, "aiohttp")
    timeout = aiohttp.ClientTimeout(total=None, connect=pause_seconds, sock_read=pause_seconds)
    headers = {"Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connector = aiohttp.TCPConnector(socket_factory=sockets.new)
        async with (
            aiohttp.ClientSession(
                connector=connector, headers=headers, timeout=timeout, auto_decompress=False
            ) as session,
            session.get(url, ssl=await present_context(tls) or True, allow_redirects=False) as response,
        ):
            return PageAnswer(response.status, await response.read())
    except TimeoutError:
        raise OSError("no answer in time") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise OSError(str(error) or "no answer") from None
    finally:
        await sockets.close()


class _Sockets:
    """The sockets of one request.

    Once an answer is whole, aiohttp forgets its connection, while TLS still waits for the server to end it: a
    program that ends then leaves a connection that nobody closes, and Python warns of it.
    """

    def __init__(self) -> None:
        self._opened: list[socket.socket] = []

    def new(self, addr_info: tuple[Any, ...]) -> socket.socket:
        """Open a socket for an entry of `getaddrinfo`."""
        opened = socket.socket(*addr_info[:3])
        self._opened.append(opened)
        return opened

    async def close(self) -> None:
        """End what is still connected, as if the server had, and let the loop see it."""
        for opened in self._opened:
            with contextlib.suppress(OSError):  # it is closed, or was never connected
                opened.shutdown(socket.SHUT_RDWR)
        for _ in range(TURNS_LIMIT):
            if all(opened.fileno() < 0 for opened in self._opened):
                return
            await asyncio.sleep(0)
