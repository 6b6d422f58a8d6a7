"""Measures the duration of some lookups; the others have no extra cost.

The read of a connection's bytes answers a cached lookup; the handler answers any other. So the sampler times
the next read of one connection and the next lookup of the handler. Until then a timing function replaces the
usual one.
"""

from collections.abc import Callable, Iterator
from time import perf_counter
from weakref import ref

from namekeeper.lookup_cache.reader import Item
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionContext, Handler
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["LookupSampler", "Took"]

Took = Callable[[float, int], None]
"""Called with the total seconds of some lookups, and their number."""


class LookupSampler:
    """Selects the next connection to time, round-robin."""

    def __init__(self, context: ConnectionContext) -> None:
        self._context = context
        self._turns: Iterator[ref[ServerConnection]] = iter(())
        """Weak references keep no closed connections in memory: with thousands of them a round takes many
        minutes."""

    def sample(self, took: Took) -> None:
        """Measure the next read of one more connection, and the next lookup that misses the cache."""
        context = self._context
        if not isinstance(context.handler, _TimedHandler):
            context.handler = _TimedHandler(context, took)
        connection = self._next()
        if connection is None:
            self._turns = iter([ref(each) for each in context.connections])
            connection = self._next()
        if connection is not None and not isinstance(connection.read, _TimedRead):
            connection.read = _TimedRead(connection, took)

    def _next(self) -> ServerConnection | None:
        """The next open connection of this round; None at its end."""
        connections = (each() for each in self._turns)
        return next((each for each in connections if each is not None and each.channel.is_open), None)


class _TimedHandler:
    """Times one lookup, and lets everything else through."""

    def __init__(self, context: ConnectionContext, took: Took) -> None:
        self._context = context
        self._handler: Handler = context.handler
        self._took = took

    def __call__(self, request: RemotingCommand, connection: ServerConnection) -> Response | None:
        handler = self._handler
        if request.code != RequestCode.GET_ROUTEINFO_BY_TOPIC or self._context.handler is not self:
            return handler(request, connection)
        self._context.handler = handler
        began = perf_counter()
        try:
            return handler(request, connection)
        finally:
            self._took(perf_counter() - began, 1)


class _TimedRead:
    """Times one read, if it consists of cached lookups only."""

    def __init__(self, connection: ServerConnection, took: Took) -> None:
        self._connection = connection
        self._read = connection.read
        self._took = took

    def __call__(self, data: bytes) -> list[Item]:
        self._connection.read = self._read
        began = perf_counter()
        items = self._read(data)
        seconds = perf_counter() - began
        if items and all(isinstance(item, bytes) for item in items):
            self._took(seconds, len(items))
        return items
