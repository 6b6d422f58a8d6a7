"""The server: listens, hands new sockets to the handshake, keeps the connections, shuts down in order."""

import asyncio
import logging
import resource
import sys
from types import TracebackType
from typing import Self

from msgspec import structs

from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.remoting.address import Address
from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import (
    Answering,
    ConnectionContext,
    ConnectionHooks,
    ConnectionLimits,
    Handler,
)
from namekeeper.remoting.counters import RemotingCounters
from namekeeper.remoting.handshake import TLS_RECEIVE_BYTES, Handshakes, TransportSecurity
from namekeeper.remoting.lending import LendingConnection
from namekeeper.remoting.listening import Acceptor, ListenOptions, bind
from namekeeper.remoting.sampling import LookupSampler, Took
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.remoting.tls_memory import TlsMemory
from namekeeper.route.channel import Channel, ClosedBy

__all__ = ["RemotingServer"]

_log = logging.getLogger("namekeeper.remoting")

DESCRIPTORS_KEPT_BACK = 64
"""Descriptors for the journal, the KV file, the operators' port and this server's connections to brokers."""
LEAST_SHARE = 4
"""Divisor of a low limit: connections have at least a quarter of it."""
FEW_CONNECTIONS = 256
"""If descriptors allow no more, the start warns: the usual limit of 1,024 allows 960."""
DESCRIPTORS_NOT_LENT = 128
"""As many connections can come in one event-loop iteration; at its end, sockets return to make room."""
SWEEPS_PER_IDLE_TIME = 24
"""The server closes an idle connection at most a twenty-fourth of its idle time too late."""
DRAIN_LOOK_SECONDS = 0.01


class RemotingServer:
    """An async context manager that listens while it is entered.

    All of it runs on the loop that entered it.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        listen: ListenOptions = ListenOptions(),
        limits: ConnectionLimits = ConnectionLimits(),
        security: TransportSecurity = TransportSecurity(),
        answering: Answering = Answering(),
        hooks: ConnectionHooks = ConnectionHooks(),
    ) -> None:
        """Take the settings; nothing is opened yet.

        Args:
            handler: answers requests, see `Handler`.
            listen: the address on which it listens.
            limits: of connections, and of their buffers.
            security: TLS, and the proxies that it trusts.
            answering: means of answering requests besides the handler.
            hooks: calls to the application about connections.
        """
        self._listen = listen
        self._allowed = allowed = _what_descriptors_allow()
        self._max_connections = (
            allowed if limits.max_connections is None else min(limits.max_connections, allowed)
        )
        self._idle_seconds = limits.idle_seconds
        self._watchers = answering.watchers
        self._tls = security.tls
        self._context = ConnectionContext(
            handler=handler,
            budget=BodyBudget(limits.body_budget_bytes),
            tls_memory=TlsMemory(limits.tls_bytes),
            limits=limits,
            answering=answering,
            hooks=hooks,
            scheduler=answering.scheduler or Scheduler(),
        )
        self._lookup_cache = answering.lookup_cache
        self._sampler = LookupSampler(self._context)
        self.front = answering.front if self._lookup_cache is not None else None
        self._handshakes = Handshakes(
            self._context,
            security,
            self._connection,
            tls_receive_bytes=listen.sockets.receive_buffer_bytes or TLS_RECEIVE_BYTES,
        )
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
        """The addresses on which it listens; empty when it doesn't."""
        return self._acceptor.addresses if self._acceptor is not None else []

    @property
    def connections(self) -> frozenset[ServerConnection]:
        """Connections that can carry requests now."""
        return frozenset(self._context.connections)

    def read_counters(self) -> RemotingCounters:
        """Add up all counters; takes a microsecond for ten connections, so call it only at intervals."""
        context = self._context
        if self.front is not None:
            self.front.note_moved()
        counters = structs.replace(context.counters)
        counters.connections_open = len(context.connections)
        counters.connections_in_handshake = len(self._handshakes)
        counters.tls_bytes = context.tls_memory.bytes
        counters.tls_memory_closes = context.tls_memory.closes
        counters.large_bytes_in_flight = context.budget.in_flight
        counters.large_frames_waiting = context.budget.waiting
        for connection in context.connections:
            counters.bytes_in += connection.bytes_in
            counters.bytes_out += connection.bytes_out
        return counters

    def sample_lookups(self, took: Took) -> None:
        """Measure a few of the next lookups, but none that the native fast path answers."""
        self._sampler.sample(took)

    async def start(self) -> None:
        """Listen and process requests from now on. Raises ConfigError if the address can't be used."""
        sockets = await bind(self._listen)
        if self._allowed < FEW_CONNECTIONS:
            _log.warning(
                "file descriptors allow only %d connections at once: raise the limit, ulimit -n",
                self._allowed,
                extra=ON_CONSOLE,
            )
        if self.front is not None and self._lookup_cache is not None:
            self.front.start(self._descriptors_for_loans)
            self._lookup_cache.topic_answers.use(self.front.store)
        self._acceptor = Acceptor(
            sockets, has_room=self._has_room, on_accept=self._handshakes.begin, on_refuse=self._refuse
        )
        self._sweep_later()
        if self._tls is not None:
            self._tls.start()

    # Shutdown: `close` does all of it; a caller can take the first two steps before, each for its own reason.

    def stop_accepting(self) -> None:
        """Stop listening: the first step, so that no new connection undoes the later ones."""
        if self._acceptor is not None:
            self._acceptor.close()

    async def drain(self, deadline_seconds: float) -> bool:
        """Wait until all requests are answered, at most this long; return whether they are.

        The handler still gets requests meanwhile, and may answer GO_AWAY.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + deadline_seconds
        while not all(connection.is_settled for connection in self._context.connections):
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(DRAIN_LOOK_SECONDS)  # only when the server stops: no request pays for it
        return True

    async def close(self) -> None:
        """Close everything; return when all sockets are closed. May be called twice."""
        # No new connections, so that no step below has to be repeated.
        self.stop_accepting()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        # Handshakes next: one of them might become a connection during the next step.
        await self._handshakes.close()
        # Connections still get the written answers, if they read them soon.
        for connection in tuple(self._context.connections):
            connection.close()
        await self._wait_until_gone()
        if self.front is not None and self._lookup_cache is not None:
            self._lookup_cache.topic_answers.use(None)
            self.front.close()
        # Last: now no connection can need a context.
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

    # Idle time is counted in sweeps, not measured by a clock. After a stall of the loop (or of the machine)
    # the peers' bytes are still in the kernel. One late sweep must not conclude that the peers were silent.

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
