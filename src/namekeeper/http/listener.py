"""Listens at the operators' port: plain, or with a TLS handshake before any HTTP."""

import asyncio
import logging
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import cast

from namekeeper.access.peer import CERTIFICATE_NAMES, has_too_many_names
from namekeeper.http.gate import YOUNG_SECONDS
from namekeeper.http.slots import Slots
from namekeeper.remoting.address import Address, sharing_host
from namekeeper.remoting.listening import Acceptor, SocketOptions, listen
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.tls import TlsContexts

__all__ = ["PageListener"]

log = logging.getLogger("namekeeper.http")

MAX_HANDSHAKES = 64
"""TLS handshakes at once. At the limit the host with the most handshakes loses its oldest one that had time
enough: a waiting peer keeps no other peer out."""
HANDSHAKES_BURST = 4 * MAX_HANDSHAKES
"""The limit of handshakes while each is young by `YOUNG_SECONDS`: a burst of connections never ends the
handshake of a probe of the same host."""
HANDSHAKE_SECONDS = 5.0
"""Time limit of a handshake: as long as a connection may take to send its request."""
CLOSE_SECONDS = 3_600.0
"""Time limit for the end of TLS after the answer, which is also the time to read the answer. `Gate` ends
connections earlier whose peers read nothing, or send no goodbye."""
LEAST_CONNECTIONS = 12
"""Connections that are allowed however few descriptors the process has."""
KEPT_BACK = 64
"""Descriptors kept back: there may be half as many connections as descriptors, less this number. An attack on
this port must leave descriptors to clients, brokers and files."""
BEYOND_LIMIT = 4
"""Connections beyond this limit. Each ends another one, whose descriptor the next loop iteration frees. Until
then further connections wait in the kernel: a probe may come right behind a burst."""
STARTS_PER_TURN = 4
"""Accepted sockets that become connections in an iteration of the loop. Each one carries a request, which
takes milliseconds of a processor: a flood of connections would otherwise delay lookups by a tenth of a second
and more."""
MAX_WAITING = 256
"""Accepted sockets that wait for that, the host first whose last start is longest ago. A probe waits for few
hosts of a flood, because these start again and again. In the kernel it would wait for a whole flood."""
HOSTS_REMEMBERED = 1_024
"""Hosts whose last start the listener remembers: those that wait, and a few times as many others."""
SEND_BUFFER_BYTES = 256 * 1024
"""Most bytes of an answer that the kernel keeps for one connection: otherwise it keeps up to 4 MiB."""
RECEIVE_BUFFER_BYTES = 8 * 1024
"""Most bytes of requests that the kernel keeps for one connection, and so most bytes that a loop iteration
decrypts of it. In TLS records of one byte 256 KiB take more than 10 ms of a processor."""
VANISHED_MS = 30_000
"""A connection ends when its peer has not acknowledged bytes for this long: its host is gone. Without this
limit a stream with few bytes to send lasts a quarter of an hour more."""


class PageListener:
    """Accepts connections until it is closed.

    Args:
        protocol: makes the protocol of a connection that may speak HTTP.
        count: returns the number of connections that speak HTTP.
        evict_one: ends one of these, as descriptors are few; returns whether a new socket should wait.
        tls: gives the TLS context; None: plain HTTP.
    """

    def __init__(
        self,
        protocol: Callable[[], asyncio.BaseProtocol],
        tls: TlsContexts | None,
        *,
        count: Callable[[], int] = lambda: 0,
        evict_one: Callable[[], bool] = lambda: False,
    ) -> None:
        self._protocol = protocol
        self._count, self._evict_one = count, evict_one
        self._allowed = _what_descriptors_allow()
        self._tls = tls
        self._acceptor: Acceptor | None = None
        self._waiting = Slots[tuple[socket.socket, Address]](MAX_WAITING)
        """Accepted sockets whose turn has not come, with the addresses of their peers."""
        self._starts = 0
        """Sockets that had their turn."""
        self._last_starts: dict[str, int] = {}
        """Host -> the value of `_starts` at its last start; the first host is forgotten first."""
        self._turn: asyncio.Handle | None = None
        """The next turn of waiting sockets; None if no socket waits."""
        self._connecting: dict[asyncio.Task[None], float] = {}
        """Sockets that had their turn and are no connections yet -> its time, on the clock of the loop."""
        self._handshakes = Slots[asyncio.Task[None]](MAX_HANDSHAKES)
        self._log_limit = LogLimit(log)

    @property
    def port(self) -> int | None:
        """The port on which it listens; None when it does not."""
        return self._acceptor.addresses[0].port if self._acceptor is not None else None

    async def listen(self, host: str, port: int) -> None:
        """Start to accept; with port 0 at a free one.

        Raises:
            OSError: it can't listen there.
        """
        sockets = await listen(
            host,
            port,
            SocketOptions(send_buffer_bytes=SEND_BUFFER_BYTES, receive_buffer_bytes=RECEIVE_BUFFER_BYTES),
        )
        if self._tls is not None:
            self._tls.start()
        self._acceptor = Acceptor(
            sockets,
            has_room=self._has_room,
            on_accept=self._wait,
            on_refuse=partial(self._note, "a new peer"),
            must_wait=self._must_wait,
            frees_descriptor=self._frees_descriptor,
        )

    async def close(self) -> None:
        """Stop accepting, close sockets that wait, and end the handshakes; may be called twice."""
        acceptor, self._acceptor = self._acceptor, None
        if acceptor is not None:
            acceptor.close()
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        while self._waiting:
            self._waiting.take_next(self._rank)[0].close()
        if self._tls is not None:
            # Plain ones become connections at once; see `Handshakes.close` for why they are not cancelled.
            for task in self._connecting:
                task.cancel()
            await self._tls.close()
        await asyncio.gather(*self._connecting, return_exceptions=True)

    def _has_room(self) -> bool:
        """Whether one more socket may be accepted; if there are many, another connection ends for it."""
        excess = self._excess()
        if excess >= 0:
            self._end_one(len(self._handshakes) > self._allowed // 2)
        return excess < BEYOND_LIMIT

    def _must_wait(self, accepted: int) -> bool:
        """Whether new sockets wait in the kernel for the next loop iteration, which has time, and maybe room.

        Each socket beyond the limit has ended a connection. If an iteration starts with too many nonetheless,
        there was none to end: the sockets of a burst become connections a few iterations later. No connection
        ends for sockets that only wait for their turn.
        """
        excess = self._excess()
        if self._waiting.hosts >= MAX_WAITING or (excess >= 0 and len(self._waiting) >= STARTS_PER_TURN):
            return True
        if excess < BEYOND_LIMIT:
            return False
        return (
            bool(accepted)
            or self._end_one(len(self._handshakes) > self._allowed // 2)
            or bool(self._connecting)
            or bool(self._waiting)
        )

    def _frees_descriptor(self) -> bool:
        """End a connection, as no descriptor is left; return whether a new socket should wait."""
        return self._end_one(len(self._handshakes) > self._count())

    def _end_one(self, is_handshake: bool) -> bool:  # noqa: FBT001 - its name says it
        """End a handshake or a connection; return whether a new socket should wait."""
        first, second = self._end_the_oldest_handshake, self._evict_one
        return (first() or second()) if is_handshake else (second() or first())

    def _excess(self) -> int:
        return self._count() + len(self._connecting) + len(self._waiting) - self._allowed

    def _wait(self, sock: socket.socket, peer: Address) -> None:
        """Let a socket wait for its turn; if too many wait, close the oldest of the host with the most."""
        host = sharing_host(peer.host)
        if host not in self._last_starts:
            self._note_start(host, self._starts - MAX_WAITING)
        self._waiting.add(host, (sock, peer))
        if len(self._waiting) > MAX_WAITING:
            victim = self._waiting.first_to_go(lambda _: False)
            assert victim is not None
            self._waiting.remove(sharing_host(victim[1].host), victim)
            victim[0].close()
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin_some(self) -> None:
        now = min(STARTS_PER_TURN, len(self._waiting))
        has_more = len(self._waiting) > now
        self._turn = asyncio.get_running_loop().call_soon(self._begin_some) if has_more else None
        for _ in range(now):
            sock, peer = self._waiting.take_next(self._rank)
            self._starts += 1
            self._note_start(sharing_host(peer.host), self._starts)
            self._begin(sock, peer)

    def _rank(self, host: str) -> int:
        return self._last_starts.get(host, -MAX_WAITING)

    def _note_start(self, host: str, start: int) -> None:
        """Remember the last start of a host; an unknown host counts as one that started long ago.

        It precedes the hosts of a flood, which start again within fewer starts, and no host that is quieter.
        """
        self._last_starts.pop(host, None)
        self._last_starts[host] = start
        if len(self._last_starts) > HOSTS_REMEMBERED:
            del self._last_starts[next(iter(self._last_starts))]

    def _begin(self, sock: socket.socket, peer: Address) -> None:
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, VANISHED_MS)
        connect = self._connect(sock) if self._tls is None else self._shake_hands(self._tls, sock, peer)
        task = asyncio.create_task(connect)
        self._connecting[task] = asyncio.get_running_loop().time()
        task.add_done_callback(self._connecting.pop)
        if self._tls is not None:
            if len(self._handshakes) >= MAX_HANDSHAKES:
                self._end_a_handshake()
            host = sharing_host(peer.host)
            self._handshakes.add(host, task)
            task.add_done_callback(partial(self._handshakes.remove, host))

    def _end_a_handshake(self) -> None:
        """End one that has had time enough; if there is none and there are too many, the oldest."""
        young_since = asyncio.get_running_loop().time() - YOUNG_SECONDS
        victim = self._handshakes.first_to_go(
            lambda task: task.cancelling() > 0 or self._connecting[task] > young_since
        )
        if victim is not None:
            victim.cancel()
        elif len(self._handshakes) >= HANDSHAKES_BURST:
            self._end_the_oldest_handshake()

    def _end_the_oldest_handshake(self) -> bool:
        victim = self._handshakes.first_to_go(lambda task: task.cancelling() > 0)
        return victim is not None and victim.cancel()

    async def _connect(self, sock: socket.socket) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(self._protocol, sock)

    async def _shake_hands(self, tls: TlsContexts, sock: socket.socket, peer: Address) -> None:
        try:
            context = await tls.context()
        except asyncio.CancelledError:
            sock.close()
            raise
        if context is None:
            sock.close()
            self._turn_away(tls, str(peer), "no TLS context could be built")
            return
        turn_away = partial(self._turn_away, tls, str(peer))
        try:
            # From here on the socket belongs to the loop, which closes it after a failure.
            await asyncio.get_running_loop().connect_accepted_socket(
                partial(_Admission, self._protocol, turn_away), sock, ssl=context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS, ssl_shutdown_timeout=CLOSE_SECONDS,
            )  # fmt: skip
        except ConnectionResetError:  # a probe, or a client that gave up
            return
        except (OSError, ValueError) as error:  # a failed handshake, or names that are no text
            turn_away(str(error) or type(error).__name__)

    def _turn_away(self, tls: TlsContexts, peer: str, why: str) -> None:
        tls.turned_away += 1
        self._note(peer, why)

    def _note(self, peer: str, why: str) -> None:
        self._log_limit.log(logging.INFO, "no connection of %s with the operators' port: %s", peer, why)


def _what_descriptors_allow() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(LEAST_CONNECTIONS, soft // 2 - KEPT_BACK)


class _Admission(asyncio.Protocol):
    """A connection with a finished handshake: from now on it counts, and its time runs."""

    def __init__(
        self, protocol: Callable[[], asyncio.BaseProtocol], turn_away: Callable[[str], None]
    ) -> None:
        self._protocol, self._turn_away = protocol, turn_away

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the protocol of the pages take over; close if the certificate takes too much memory."""
        if has_too_many_names(transport.get_extra_info("peercert")):
            self._turn_away(f"its certificate has more than {CERTIFICATE_NAMES} names")
            cast("asyncio.Transport", transport).abort()
            return
        protocol = self._protocol()
        cast("asyncio.Transport", transport).set_protocol(protocol)  # uvloop's is no subclass of it
        protocol.connection_made(transport)
