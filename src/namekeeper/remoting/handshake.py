"""From an accepted socket to a connection: the peer, whether it speaks TLS, and whether that is allowed."""

import asyncio
import itertools
import logging
import socket
import ssl
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Generic, TypeVar

from msgspec import Struct

from namekeeper.common.networks import IpNetwork, parse_ip
from namekeeper.remoting.address import Address, sharing_host
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.protocol_sniffing import ProtocolSniffer
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_pieces import TlsPieces
from namekeeper.remoting.tls_settings import TlsMode
from namekeeper.route.channel import Channel

__all__ = ["MAX_HANDSHAKES", "Handshakes", "TlsTurns", "TransportSecurity"]

HANDSHAKE_SECONDS = 10.0
"""For TLS; a peer on a slow link needs two round trips."""
HURRIED_SECONDS = 2.0
"""Time limit of a handshake while other connections of its host wait."""
TLS_GOODBYE_SECONDS = 2.0

_log = logging.getLogger("namekeeper.remoting")


MAX_HANDSHAKES = 64
"""Handshakes of one host at once: about 50 ms of the loop if all are at the same point."""

T = TypeVar("T")


class TlsTurns(Generic[T]):
    """Limits the TLS handshakes of one host that are under way; its other ones wait in arrival order.

    A handshake takes the loop up to a millisecond, and about 70 KiB until it is over. A client's first
    message costs its sender nothing, so thousands of connections could send theirs at once.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._under_way: dict[str, int] = {}
        self._waiting: dict[str, deque[T]] = {}

    def begin(self, host: str, newcomer: T) -> bool:
        """Return whether a newcomer may start; if not, it waits."""
        count = self._under_way.get(host, 0)
        if count >= MAX_HANDSHAKES:
            self._waiting.setdefault(host, deque()).append(newcomer)
            return False
        self._under_way[host] = count + 1
        return True

    def end(self, host: str) -> T | None:
        """Note the end of a handshake; return the newcomer that may start now, if one waits."""
        waiting = self._waiting.get(host)
        if waiting:
            first = waiting.popleft()
            if not waiting:
                del self._waiting[host]
            return first
        self._under_way[host] -= 1
        if not self._under_way[host]:
            del self._under_way[host]
        return None

    def is_crowded(self, host: str) -> bool:
        """Whether a newcomer of this host waits."""
        return host in self._waiting

    def forget_waiting(self) -> None:
        """Forget the waiting newcomers: the server closes."""
        self._waiting.clear()


class TransportSecurity(Struct, frozen=True, kw_only=True):
    """The server's trust in its peers before they send a request."""

    tls: TlsContexts | None = None
    """None turns TLS connections away."""
    trusted_proxies: Collection[IpNetwork] = ()
    """From these networks, a PROXY header counts as the peer's address."""


class Handshakes:
    """Accepted sockets that are no connections yet: protocol sniffing, then the TLS handshake, if any."""

    def __init__(
        self,
        context: ConnectionContext,
        security: TransportSecurity,
        connection: Callable[[Channel], ServerConnection],
    ) -> None:
        self._context = context
        self._connection = connection
        self._tls = tls = security.tls
        self._tls_mode = tls.mode if tls is not None else TlsMode.DISABLED
        self._trusted = security.trusted_proxies
        self._channel_ids = itertools.count(1)
        self._sniffers: set[ProtocolSniffer] = set()
        self._connecting: dict[asyncio.Task[None], bool] = {}
        """Sockets whose transport is being made, and whether by TLS."""
        self._tls_turns: TlsTurns[ProtocolSniffer] = TlsTurns()
        self._log_limit = LogLimit(_log)

    def __len__(self) -> int:
        """Count sockets that are no connections yet."""
        return len(self._sniffers) + len(self._connecting)

    def begin(self, sock: socket.socket, peer: Address) -> None:
        """Start with a socket that was just accepted."""
        sniffer = ProtocolSniffer(sock, peer, on_ready=self._begin_connecting, on_rejected=self._reject)
        self._sniffers.add(sniffer)
        sniffer.look()

    def sweep(self, max_age: int) -> None:
        """Close sockets that have sent nothing for `max_age` sweeps."""
        for sniffer in tuple(self._sniffers):
            sniffer.age_in_sweeps += 1
            if sniffer.age_in_sweeps > max_age:
                self._sniffers.discard(sniffer)
                self._context.counters.idle_closes += 1
                sniffer.cancel()

    async def close(self) -> None:
        """Close all sockets, except those that need no handshake and become connections at once.

        Do not cancel those: uvloop would close the transport of a finished connection and not inform the
        connection.
        """
        self._tls_turns.forget_waiting()
        for sniffer in self._sniffers:
            sniffer.cancel()
        self._sniffers.clear()
        for task, is_tls in self._connecting.items():
            if is_tls:
                task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)

    def _reject(self, sniffer: ProtocolSniffer, reason: str) -> None:
        self._sniffers.discard(sniffer)
        sniffer.cancel()
        self._context.counters.connections_rejected += 1
        if reason:
            self._log_limit.log(logging.INFO, "closing a new connection from %s: %s", sniffer.peer, reason)

    def _begin_connecting(self, sniffer: ProtocolSniffer, is_tls: bool) -> None:  # noqa: FBT001 - a callback
        """Make it a connection if `tls.server.mode` allows its kind."""
        if is_tls and self._tls_mode is TlsMode.DISABLED:
            self._reject(sniffer, "it speaks TLS, and tls.server.mode is disabled")
        elif not is_tls and self._tls_mode is TlsMode.ENFORCING:
            self._reject(sniffer, "it doesn't speak TLS, and tls.server.mode is enforcing")
        elif not is_tls or self._tls_turns.begin(self._host(sniffer), sniffer):
            self._go_on(sniffer, is_tls=is_tls)

    def _go_on(self, sniffer: ProtocolSniffer, *, is_tls: bool) -> None:
        self._sniffers.discard(sniffer)
        task = asyncio.create_task(self._connect(sniffer, is_tls=is_tls))
        self._connecting[task] = is_tls
        task.add_done_callback(self._connecting.pop)
        if is_tls:
            task.add_done_callback(lambda _: self._end_turn(sniffer))

    def _end_turn(self, ended: ProtocolSniffer) -> None:
        """Let the next open socket of its host start its handshake, if one waits."""
        host = self._host(ended)
        following = self._tls_turns.end(host)
        while following is not None and following not in self._sniffers:
            following = self._tls_turns.end(host)
        if following is not None:
            self._go_on(following, is_tls=True)

    async def _connect(self, sniffer: ProtocolSniffer, *, is_tls: bool) -> None:
        context = await self._tls_context(sniffer) if is_tls else None
        if is_tls and context is None:
            self._context.counters.tls_failures += 1
            self._reject(sniffer, "it speaks TLS, and no TLS context could be built")
            return
        seconds = HURRIED_SECONDS if self._tls_turns.is_crowded(self._host(sniffer)) else HANDSHAKE_SECONDS
        try:
            # From here on the socket belongs to the loop, which closes it after a failure.
            await asyncio.get_running_loop().connect_accepted_socket(
                partial(self._protocol, sniffer, is_tls=is_tls),
                sniffer.sock,
                ssl=context,
                ssl_handshake_timeout=seconds if is_tls else None,
                ssl_shutdown_timeout=TLS_GOODBYE_SECONDS if is_tls else None,
            )
        except OSError as error:  # a failed handshake, or a peer that left
            self._context.counters.tls_failures += is_tls
            self._log_limit.log(logging.INFO, "no connection with %s: %s", sniffer.peer, error)

    def _protocol(self, sniffer: ProtocolSniffer, *, is_tls: bool) -> asyncio.Protocol:
        connection = self._connection(self._channel(sniffer))
        return TlsPieces(connection) if is_tls else connection

    async def _tls_context(self, sniffer: ProtocolSniffer) -> ssl.SSLContext | None:
        try:
            return await self._tls.context() if self._tls is not None else None
        except asyncio.CancelledError:
            sniffer.cancel()
            raise

    def _host(self, sniffer: ProtocolSniffer) -> str:
        """The host that a newcomer counts for: that in a trusted proxy's PROXY header, else its own."""
        claimed = sniffer.claimed
        peer = sniffer.peer if claimed is None or not self._is_trusted(sniffer.peer) else claimed
        return sharing_host(peer.host)

    def _channel(self, sniffer: ProtocolSniffer) -> Channel:
        """Make the channel; a PROXY header counts as the peer's address if a trusted proxy sent it."""
        peer, claimed = sniffer.peer, sniffer.claimed
        if claimed is not None and self._is_trusted(peer):
            return Channel(next(self._channel_ids), str(claimed))
        channel = Channel(next(self._channel_ids), str(peer))
        if claimed is not None:
            self._context.counters.proxy_claims += 1
            self._log_limit.log(logging.INFO, "%s claimed by a PROXY header to be %s", channel, claimed)
        return channel

    def _is_trusted(self, peer: Address) -> bool:
        if not self._trusted:
            return False
        host = parse_ip(peer.host)
        return any(host in network for network in self._trusted)
