"""From an accepted socket to a connection: the peer, whether it speaks TLS, and whether that is allowed."""

import asyncio
import contextlib
import itertools
import logging
import socket
import ssl
from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from namekeeper.common.networks import IpNetwork, parse_ip
from namekeeper.remoting.address import Address, sharing_host
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.protocol_sniffing import ProtocolSniffer
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_pieces import TlsPieces
from namekeeper.remoting.tls_reads import TlsReads
from namekeeper.remoting.tls_settings import TlsMode
from namekeeper.remoting.tls_turns import HURRIED_SECONDS, TlsTurns
from namekeeper.route.channel import Channel

__all__ = ["Handshakes", "TransportSecurity"]

HANDSHAKE_SECONDS = 10.0
"""For TLS; a peer on a slow link needs two round trips."""
HURRY_LOOK_SECONDS = 0.25
"""Interval at which the server looks for handshakes whose time is over because others wait."""
TLS_GOODBYE_SECONDS = 2.0
TLS_RECEIVE_BYTES = 32 * 1024
"""SO_RCVBUF of a TLS connection if no size is configured; Linux doubles it. It bounds one read of the socket,
and so two buffers of TLS that never shrink, and the records that one event-loop iteration decrypts."""

_log = logging.getLogger("namekeeper.remoting")


class TransportSecurity(Struct, frozen=True, kw_only=True):
    """The server's trust in its peers before they send a request."""

    tls: TlsContexts | None = None
    """None turns TLS connections away."""
    trusted_proxies: Collection[IpNetwork] = ()
    """From these networks, a PROXY header counts as the peer's address."""


class _Connecting(NamedTuple):
    """A socket whose transport is being made."""

    sniffer: ProtocolSniffer
    is_tls: bool
    began: float
    """On the clock of the loop."""


class Handshakes:
    """Accepted sockets that are no connections yet: protocol sniffing, then the TLS handshake, if any."""

    def __init__(
        self,
        context: ConnectionContext,
        security: TransportSecurity,
        connection: Callable[[Channel], ServerConnection],
        *,
        tls_receive_bytes: int = TLS_RECEIVE_BYTES,
    ) -> None:
        self._context = context
        self._tls_receive_bytes = tls_receive_bytes
        self._connection = connection
        self._tls = tls = security.tls
        self._tls_mode = tls.mode if tls is not None else TlsMode.DISABLED
        self._trusted = security.trusted_proxies
        self._channel_ids = itertools.count(1)
        self._sniffers: set[ProtocolSniffer] = set()
        self._connecting: dict[asyncio.Task[None], _Connecting] = {}
        self._tls_reads = TlsReads(context.scheduler)
        self._tls_turns: TlsTurns[ProtocolSniffer] = TlsTurns()
        self._hurry_timer: asyncio.TimerHandle | None = None
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
        if self._hurry_timer is not None:
            self._hurry_timer.cancel()
        for sniffer in self._sniffers:
            sniffer.cancel()
        self._sniffers.clear()
        for task, connecting in self._connecting.items():
            if connecting.is_tls:
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
        else:
            self._hurry_later()

    def _go_on(self, sniffer: ProtocolSniffer, *, is_tls: bool) -> None:
        self._sniffers.discard(sniffer)
        task = asyncio.create_task(self._connect(sniffer, is_tls=is_tls))
        self._connecting[task] = _Connecting(sniffer, is_tls, asyncio.get_running_loop().time())
        task.add_done_callback(self._connecting.pop)
        if is_tls:
            task.add_done_callback(lambda _: self._end_turn(sniffer))

    def _end_turn(self, ended: ProtocolSniffer) -> None:
        """Let open sockets that wait start their handshakes."""
        self._tls_turns.end(self._host(ended))
        while (following := self._tls_turns.next()) is not None:
            if following in self._sniffers:
                self._go_on(following, is_tls=True)
            else:
                self._tls_turns.end(self._host(following))

    def _hurry_later(self) -> None:
        if self._hurry_timer is None:
            self._hurry_timer = asyncio.get_running_loop().call_later(HURRY_LOOK_SECONDS, self._hurry)

    def _hurry(self) -> None:
        """End handshakes that have had their time while others wait."""
        self._hurry_timer = None
        latest = asyncio.get_running_loop().time() - HURRIED_SECONDS
        for sniffer, is_tls, began in self._connecting.values():
            if is_tls and began <= latest and self._tls_turns.is_crowded(self._host(sniffer)):
                # Unlike a cancelled task, this also ends a connection whose handshake is over meanwhile.
                with contextlib.suppress(OSError):
                    sniffer.sock.shutdown(socket.SHUT_RDWR)
        if self._tls_turns.has_waiting:
            self._hurry_later()

    async def _connect(self, sniffer: ProtocolSniffer, *, is_tls: bool) -> None:
        context = await self._tls_context(sniffer) if is_tls else None
        if is_tls and context is None:
            self._context.counters.tls_failures += 1
            self._reject(sniffer, "it speaks TLS, and no TLS context could be built")
            return
        if is_tls:
            with contextlib.suppress(OSError):  # the peer has left
                sniffer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._tls_receive_bytes)
        try:
            # From here on the socket belongs to the loop, which closes it after a failure.
            await asyncio.get_running_loop().connect_accepted_socket(
                partial(self._protocol, sniffer, is_tls=is_tls),
                sniffer.sock,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if is_tls else None,
                ssl_shutdown_timeout=TLS_GOODBYE_SECONDS if is_tls else None,
            )
        except (OSError, ValueError) as error:  # no handshake, a peer that left, a name that is no text
            self._context.counters.tls_failures += is_tls
            self._log_limit.log(logging.INFO, "no connection with %s: %s", sniffer.peer, error)

    def _protocol(self, sniffer: ProtocolSniffer, *, is_tls: bool) -> asyncio.Protocol:
        connection = self._connection(self._channel(sniffer))
        return TlsPieces(connection, self._tls_reads, self._context.tls_memory) if is_tls else connection

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
