"""Host names to addresses, by a few threads that the end of the process does not wait for.

A peer chooses the names of its brokers, and the DNS may take half a minute for one. The loop's own
`getaddrinfo` has an unbounded queue before its threads, and no loop closes before those threads are done.
"""

import socket
from collections.abc import Sequence
from typing import Any

from namekeeper.daemon_threads import DaemonThreads

__all__ = ["NAMES_AT_ONCE", "Resolver"]

NAMES_AT_ONCE = 8
"""Names that one resolver looks up at once: each has a thread. A stuck thread ends when the system gives its
name up, after half a minute at most by default."""


class Resolver:
    """Looks up host names for one event loop. Callers wait for a thread within their own time limit."""

    def __init__(self) -> None:
        self._threads = DaemonThreads("resolver", NAMES_AT_ONCE)

    async def addresses(self, host: str) -> list[str]:
        """Return the IP addresses of a host, best first; an IP address is its own.

        Raises:
            OSError: no such name, or no answer of the DNS.
        """
        if _is_address(host):
            return [host]
        try:
            return await self._threads.run(_look_up, host)
        except RuntimeError as error:  # no more threads
            raise OSError(str(error)) from None

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[dict[str, Any]]:
        """Return the addresses in the form that aiohttp needs."""
        found = await self.addresses(host)
        common = {"hostname": host, "port": port, "proto": 0, "flags": socket.AI_NUMERICHOST}
        of_family = [(address, socket.AF_INET6 if ":" in address else socket.AF_INET) for address in found]
        return [
            {**common, "host": address, "family": its}
            for address, its in of_family
            if family in {socket.AF_UNSPEC, its}
        ]

    async def close(self) -> None:
        """Do nothing: aiohttp calls it."""


def _look_up(host: str) -> list[str]:
    return list(dict.fromkeys(_text_of(info) for info in _infos(host)))


def _infos(host: str, flags: int = 0) -> Sequence[tuple[Any, ...]]:
    try:
        return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:  # a label of more than 63 characters, which no name in the DNS has
        raise socket.gaierror(socket.EAI_NONAME, "it is no host name") from None


def _is_address(host: str) -> bool:
    try:
        return bool(_infos(host, socket.AI_NUMERICHOST))
    except OSError:
        return False


def _text_of(info: tuple[Any, ...]) -> str:
    """The address of an entry of `getaddrinfo`, with the interface of a link-local one."""
    address, *more = info[4]
    scope = more[2] if len(more) > 2 else 0
    return f"{address}%{scope}" if scope else str(address)
