"""The server: listens, hands new sockets to the handshake, keeps the connections, shuts down in order."""

import asyncio
import logging
import resource
import sys
from collections.abc import Callable, Iterable, Sized
from types import TracebackType
from typing import Self

from msgspec import structs

from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.remoting.address import Address
from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import WRITE_BUFFER_BYTES, ConnectionContext, Handler
from namekeeper.remoting.counters import RemotingCounters
from namekeeper.remoting.front import Front
from namekeeper.remoting.handshake import Handshakes, parse_networks
from namekeeper.remoting.lending import LendingConnection
from namekeeper.remoting.listening import DEFAULT_SOCKET_OPTIONS, Acceptor, SocketOptions, bind
from namekeeper.remoting.sampling import LookupSampler, Took
from namekeeper.remoting.tls import TlsContexts
from namekeeper.route.channel import Channel, ClosedBy
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES

__all__ = ["RemotingServer"]

_log = logging.getLogger("namekeeper.remoting")

DEFAULT_BODY_BUDGET_BYTES = 256 * 1024 * 1024
"""Sixteen frames of the largest size, or a storm of 300 brokers with 10,000 topics each, compressed."""
DESCRIPTORS_KEPT_BACK = 64
"""Descriptors for the journal, the KV file, the operators' port and our own connections to brokers."""
LEAST_SHARE = 4
"""Where the limit is that low, connections have a quarter of it."""
FEW_CONNECTIONS = 256
"""If descriptors allow no more, the start warns: the usual limit of 1,024 allows 960."""
DESCRIPTORS_NOT_LENT = 128
"""As many connections can come in one turn of the loop, at the end of which loans make room."""
SWEEPS_PER_IDLE_TIME = 24
"""An idle connection is closed at most a twenty-fourth of its idle time too late."""
DRAIN_LOOK_SECONDS = 0.01


def _nobody(_channel: Channel) -> None:
    """Do nothing: the default of a callback."""


def _has_none(_channel: Channel) -> bool:
    """Say that no broker is registered: the default."""
    return False


class RemotingServer:
    """An async context manager that listens while it is entered.

    Everything happens on the loop that entered it. `on_connect` and `on_close` are called once for each
    connection that got as far as carrying requests.
    """

    def __init__(  # noqa: PLR0913 - each is a setting of its own, by name
        self,
        handler: Handler,
        *,
        host: str = "0.0.0.0",  # noqa: S104 - Java's default: a name server is there to be reached
        port: int = 9876,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        socket_options: SocketOptions = DEFAULT_SOCKET_OPTIONS,
        write_buffer_bytes: tuple[int, int] = WRITE_BUFFER_BYTES,
        max_connections: int | None = None,
        idle_seconds: float = 120.0,
        large_frame_seconds: float = 30.0,
        serialize_type: SerializeType = SerializeType.JSON,
        tls: TlsContexts | None = None,
        proxy_trusted_networks: Iterable[str] = (),
        body_budget_bytes: int = DEFAULT_BODY_BUDGET_BYTES,
        lookup_cache: LookupCache | None = None,
        is_cache_open: bool = True,
        front: Front | None = None,
        watchers: Sized = (),
        has_broker: Callable[[Channel], bool] = _has_none,
        on_connect: Callable[[Channel], None] = _nobody,
        on_close: Callable[[Channel], None] = _nobody,
    ) -> None:
        """Take the settings; nothing is opened yet.

        Args:
            handler: answers requests, see `Handler`.
            host: an address or a name of this machine, IPv6 with or without brackets.
            port: 0 picks a free one.
            max_frame_bytes: bounds a frame with its length field.
            socket_options: what the kernel is asked for.
            write_buffer_bytes: answers that wait for their peer to read: above the second number reading from
                that peer stops, at the first it goes on.
            max_connections: never more than the limit of descriptors leaves.
            idle_seconds: a connection with neither read nor write for so long is closed; 0 never.
            large_frame_seconds: an admitted large frame must have arrived after that.
            serialize_type: header form of answers.
            tls: None turns TLS connections away.
            proxy_trusted_networks: from there a PROXY header counts as the peer's address.
            body_budget_bytes: bound of large frames arriving or not answered yet, over all connections.
            lookup_cache: asked for the whole answer to a request before it is decoded.
            is_cache_open: whether every peer may have its answers; if not, the handler says of each.
            front: serves connections that ask for what the cache knows; needs `lookup_cache`.
            watchers: those of another port, which need their descriptors more than the front does.
            has_broker: whether a broker is registered over a connection: its large frames go first.
            on_connect: a connection can carry requests now.
            on_close: a connection was closed by either side; its channel is not open any more.
        """
        self._host = host
        self._port = port
        self._socket_options = socket_options
        self._allowed = allowed = _what_descriptors_allow()
        self._max_connections = allowed if max_connections is None else min(max_connections, allowed)
        self._idle_seconds = idle_seconds
        self._watchers = watchers
        self._tls = tls
        self._context = ConnectionContext(
            handler=handler,
            max_frame_bytes=max_frame_bytes,
            budget=BodyBudget(body_budget_bytes),
            serialize_type=serialize_type,
            write_buffer_bytes=write_buffer_bytes,
            large_frame_seconds=large_frame_seconds,
            lookup_cache=lookup_cache,
            is_cache_open=is_cache_open,
            has_broker=has_broker,
            on_connect=on_connect,
            on_close=on_close,
        )
        self._sampler = LookupSampler(self._context)
        self.front = front if lookup_cache is not None else None
        trusted = parse_networks(proxy_trusted_networks)
        self._handshakes = Handshakes(self._context, tls, trusted, self._connection)
        self._acceptor: Acceptor | None = None
        self._sweep_timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def addresses(self) -> list[Address]:
        """Where it listens; empty when it doesn't."""
        return self._acceptor.addresses if self._acceptor is not None else []

    @property
    def connections(self) -> frozenset[ServerConnection]:
        """Those that can carry requests now."""
        return frozenset(self._context.connections)

    def read_counters(self) -> RemotingCounters:
        """Add up all counters; takes a microsecond for ten connections, so call it only at intervals."""
        context = self._context
        if self.front is not None:
            self.front.note_moved()
        counters = structs.replace(context.counters)
        counters.connections_open = len(context.connections)
        counters.connections_in_handshake = len(self._handshakes)
        counters.large_bytes_in_flight = context.budget.in_flight
        counters.large_frames_waiting = context.budget.waiting
        for connection in context.connections:
            counters.bytes_in += connection.bytes_in
            counters.bytes_out += connection.bytes_out
        return counters

    def sample_lookups(self, took: Took) -> None:
        """Measure a few of the next look-ups, but not those that the front answers."""
        self._sampler.sample(took)

    async def start(self) -> None:
        """Listen; connections are served from now on. Raises ConfigError if the address can't be used."""
        sockets = await bind(self._host, self._port, self._socket_options)
        if self._allowed < FEW_CONNECTIONS:
            _log.warning(
                "file descriptors allow only %d connections at once: raise the limit, ulimit -n",
                self._allowed,
                extra=ON_CONSOLE,
            )
        if self.front is not None and self._context.lookup_cache is not None:
            self.front.start(self._descriptors_for_loans)
            self._context.lookup_cache.topic_answers.use(self.front.store)
        self._acceptor = Acceptor(
            sockets, has_room=self._has_room, on_accept=self._handshakes.begin, on_refuse=self._refuse
        )
        self._sweep_later()
        if self._tls is not None:
            self._tls.start()

    # Shutdown: `close` does all of it; the first two steps can be taken before, each for its own reason.

    def stop_accepting(self) -> None:
        """Stop listening: the first step, so that no new connection undoes the later ones."""
        if self._acceptor is not None:
            self._acceptor.close()

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait until all requests are answered, at most this long; return whether they are.

        Requests are still handed to the handler meanwhile, which may answer GO_AWAY.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + deadline_seconds
        while not all(connection.is_settled for connection in self._context.connections):
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(DRAIN_LOOK_SECONDS)  # only when the server stops: no request pays for it
        return True

    async def close(self) -> None:
        """Close everything; returns when all sockets are closed. May be called twice."""
        # No new connections, so that nothing below has to be repeated.
        self.stop_accepting()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        # Handshakes next: one of them might become a connection during the next step.
        await self._handshakes.close()
        # Connections still get the answers that were written, if they read them soon.
        for connection in tuple(self._context.connections):
            connection.close()
        await self._wait_until_gone()
        if self.front is not None and self._context.lookup_cache is not None:
            self._context.lookup_cache.topic_answers.use(None)
            self.front.close()
        # Last: now nobody can need a context.
        if self._tls is not None:
            await self._tls.close()

    async def _wait_until_gone(self) -> None:
        """Wait until all transports are closed; each has a timer, see `ServerConnection.close`."""
        while self._context.connections:  # noqa: ASYNC110 - only when the server stops
            await asyncio.sleep(DRAIN_LOOK_SECONDS)

    def _connection(self, channel: Channel) -> ServerConnection:
        if self.front is None:
            return ServerConnection(channel, self._context)
        return LendingConnection(channel, self._context, self.front)

    @property
    def _sockets(self) -> int:
        return len(self._context.connections) + len(self._handshakes)

    def _has_room(self) -> bool:
        if self.front is not None:
            self.front.keep_descriptors_free()
        return self._sockets < self._max_connections

    def _descriptors_for_loans(self) -> int:
        lent = 0 if self.front is None else len(self.front)
        return self._allowed - DESCRIPTORS_NOT_LENT - self._sockets - len(self._watchers) - lent

    def _refuse(self, reason: str) -> None:
        self._context.counters.connections_refused += 1
        self._context.log_limit.log(logging.WARNING, "closing a new connection: %s", reason)

    # Idle time is counted in sweeps, not measured by a clock: after a stall of the loop (or of the machine)
    # the peers' bytes are still in the kernel, and one late sweep must not conclude that the peers were
    # silent.

    def _sweep_later(self) -> None:
        if not self._idle_seconds:
            return
        seconds = self._idle_seconds / SWEEPS_PER_IDLE_TIME
        self._sweep_timer = asyncio.get_running_loop().call_later(seconds, self._sweep)

    def _sweep(self) -> None:
        self._sweep_later()
        self._handshakes.sweep(SWEEPS_PER_IDLE_TIME)
        if self.front is not None:
            self.front.note_moved()
            self.front.keep_descriptors_free()
        for connection in tuple(self._context.connections):
            moved = connection.bytes_in + connection.bytes_out
            seen, quiet_sweeps = connection.seen_by_sweep
            if moved != seen or connection.is_held_up:
                connection.seen_by_sweep = (moved, 0)
            elif quiet_sweeps + 1 < SWEEPS_PER_IDLE_TIME:
                connection.seen_by_sweep = (moved, quiet_sweeps + 1)
            elif connection.channel.is_open:
                self._context.counters.idle_closes += 1
                connection.close(ClosedBy.IDLE)


def _what_descriptors_allow() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(soft - DESCRIPTORS_KEPT_BACK, soft // LEAST_SHARE)
