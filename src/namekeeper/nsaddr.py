"""The address server: a page whose first line lists the name servers (protocol.md 6.8).

Clients and brokers without a list of name servers ask it again and again, so that name servers can move.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib import import_module

from namekeeper.errors import ConfigError
from namekeeper.remoting.address import parse_addresses
from namekeeper.remoting.resolving import Resolver

__all__ = [
    "REFRESH_SECONDS",
    "AddressServer",
    "address_server_url",
    "fetch_name_server_addresses",
    "refuse_url",
]

REFRESH_SECONDS = 120.0
"""As often as Java's clients and brokers ask again."""
RETRY_SECONDS = 10.0
"""How soon it is asked again while there is no list at all."""
FETCH_SECONDS = 3.0
"""Java's time limit."""
LIST_BYTES = 64 * 1024
"""Bytes of the page that are read: enough for a list of a thousand name servers."""
DEFAULT_PORT = 8080

_CHECK = "check the address server, or give the list itself (namesrv_addr, NAMESRV_ADDR)"

_log = logging.getLogger("namekeeper.nsaddr")

Sleep = Callable[[float], Awaitable[object]]


def address_server_url(domain: str, *, subgroup: str = "nsaddr", unit_name: str | None = None) -> str:
    """Return where the list is.

    Args:
        domain: host, or host:port; a URL that begins with http:// or https:// is taken as it is.
        subgroup: last part of the path.
        unit_name: names the list of one unit, if there are several.

    Raises:
        ConfigError: no domain.
    """
    domain = domain.strip()
    if not domain:
        raise ConfigError("the address server's domain is empty: give its host, or host:port")
    if domain.startswith(("http://", "https://")):
        return domain
    host = domain if ":" in domain else f"{domain}:{DEFAULT_PORT}"
    suffix = f"-{unit_name}?nofix=1" if unit_name else ""
    return f"http://{host}/rocketmq/{subgroup}{suffix}"


def refuse_url(setting: str, text: str, address_server: str) -> None:
    """Refuse the URL of an address server where name servers are listed.

    `http://host:port` is not refused: Java drops the `http://` (protocol.md 7.1).

    Args:
        setting: name of the setting with the list.
        text: its value.
        address_server: name of the setting for an address server.

    Raises:
        ConfigError: it is a URL.
    """
    for item in text.split(";"):
        scheme, is_url, rest = item.strip().partition("://")
        if is_url and (scheme != "http" or "/" in rest.rstrip("/")):
            raise ConfigError(
                f"{setting}: {item.strip()!r} is a URL: write a name server as host:port, as in"
                f" {rest.partition('/')[0]}, or an address server as {address_server}={item.strip()!r}"
            )


async def fetch_name_server_addresses(url: str, *, timeout_seconds: float = FETCH_SECONDS) -> list[str]:
    """Fetch the list.

    Returns:
        Addresses as `host:port`, at least one.

    Raises:
        ConfigError: no list: no connection, no answer in time, another status than 200, or a page whose
            first line is none; the message says which.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            line = await _first_line(url)
    except TimeoutError:
        raise ConfigError(
            f"no list of name servers from {url}: no answer within {timeout_seconds:g} s; {_CHECK}"
        ) from None
    try:
        return [str(addr) for addr in parse_addresses(line)]
    except ConfigError as error:
        raise ConfigError(f"no list of name servers from {url}: {error}") from None


class AddressServer:
    """Asks one address server again and again; `on_list` gets each list that it gives."""

    def __init__(
        self,
        url: str,
        on_list: Callable[[list[str]], object],
        *,
        fetch: Callable[[str], Awaitable[list[str]]] = fetch_name_server_addresses,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Take the settings.

        Args:
            url: see `address_server_url`.
            on_list: called with every list, also an unchanged one.
            fetch: tests bring their own.
            sleep: waits this many seconds.
        """
        self.url = url
        self._on_list = on_list
        self._fetch = fetch
        self._sleep = sleep
        self.failure: ConfigError | None = None
        """Why there is no newer list; None after a success."""
        self._has_list = False

    async def ask(self) -> bool:
        """Ask once; return whether there was a list. A failure is logged, and kept in `failure`."""
        try:
            addrs = await self._fetch(self.url)
        except ConfigError as error:
            self.failure = error
            kept = "; the list from before stays in use" if self._has_list else ""
            _log.warning("%s%s", error, kept)
            return False
        self.failure = None
        self._has_list = True
        self._on_list(addrs)
        return True

    async def keep_asking(self) -> None:
        """Ask every 2 minutes until cancelled, and more often while there never was a list."""
        while True:
            await self._sleep(REFRESH_SECONDS if self._has_list else RETRY_SECONDS)
            await self.ask()


async def _first_line(url: str) -> str:
    """First line of a page; ConfigError if there is no page."""
    # The import takes a fifth of a second, and most processes get a list and never need it.
    aiohttp = await asyncio.to_thread(import_module, "aiohttp")
    try:
        names = aiohttp.TCPConnector(resolver=Resolver())
        async with aiohttp.ClientSession(connector=names) as session, session.get(url) as response:
            if response.status != 200:
                raise ConfigError(f"no list of name servers from {url}: status {response.status}; {_CHECK}")
            text = b""
            async for piece in response.content.iter_any():
                text += piece
                if len(text) >= LIST_BYTES:
                    break
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ConfigError(f"no list of name servers from {url}: {error}; {_CHECK}") from None
    return text.decode(errors="replace").strip().partition("\n")[0]
