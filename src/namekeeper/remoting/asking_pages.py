"""Asks for a page of an operators' HTTP port: with a bearer token, and over TLS for `https`."""

import asyncio
import ssl
from importlib import import_module

from msgspec import Struct

__all__ = ["PageAnswer", "ask_page"]


class PageAnswer(Struct, frozen=True):
    """What came back, whatever the status is."""

    status: int
    """The HTTP status."""
    body: bytes

    @property
    def text(self) -> str:
        """The body as one message; what is no UTF-8 is replaced."""
        return self.body.decode(errors="replace").strip()


async def ask_page(url: str, *, token: str, tls: ssl.SSLContext | None, pause_seconds: float) -> PageAnswer:
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
    # A fifth of a second to import, and most processes ask for no page.
    aiohttp = await asyncio.to_thread(import_module, "aiohttp")
    timeout = aiohttp.ClientTimeout(total=None, connect=pause_seconds, sock_read=pause_seconds)
    headers = {"Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        async with (
            aiohttp.ClientSession(headers=headers, timeout=timeout, auto_decompress=False) as session,
            session.get(url, ssl=tls or True, allow_redirects=False) as response,
        ):
            return PageAnswer(response.status, await response.read())
    except TimeoutError:
        raise OSError("no answer in time") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise OSError(str(error) or "no answer") from None
