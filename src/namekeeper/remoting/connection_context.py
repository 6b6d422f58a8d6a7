"""What all connections of a server share: the handler, the limits, and what is counted over all of them."""

import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from namekeeper.errors import RequestError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.counters import RemotingCounters
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.turns import Turns
from namekeeper.remoting.unread import UnreadAnswers
from namekeeper.remoting.unserved import UnservedRequests
from namekeeper.route.channel import Channel
from namekeeper.wire.codes import ResponseCode, SerializeType
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["WRITE_BUFFER_BYTES", "ConnectionContext", "Handler"]

WRITE_BUFFER_BYTES = (64 * 1024, 256 * 1024)
"""Low and high mark of the bytes that a peer has not read, beyond the kernel's buffers: above the high mark
we stop reading from the peer, at the low mark we go on."""

_log = logging.getLogger("namekeeper.remoting")

Handler = Callable[[RemotingCommand, Any], Response | None]
"""Answers a request that came over a `ServerConnection`. None says that the connection's `respond` is
called later, once for this very object, also if it is one-way."""


def _nobody(_channel: Channel) -> None:
    """Do nothing: the default of a callback."""


def _has_none(_channel: Channel) -> bool:
    """Say that no broker is registered: the default."""
    return False


class ConnectionContext(Struct, kw_only=True, eq=False):
    """What all connections of a server share."""

    handler: Handler
    max_frame_bytes: int
    budget: BodyBudget
    turns: Turns = field(default_factory=Turns)
    """The time that everything but look-ups may take."""
    unread: UnreadAnswers = field(default_factory=UnreadAnswers)
    unserved: UnservedRequests = field(default_factory=UnservedRequests)
    counters: RemotingCounters = field(default_factory=RemotingCounters)
    serialize_type: SerializeType = SerializeType.JSON
    """Header form of answers; peers of language CPP get JSON in any case (trap T2)."""
    write_buffer_bytes: tuple[int, int] = WRITE_BUFFER_BYTES
    """Low and high water mark of the answers that wait for the peer to read."""
    large_frame_seconds: float = 30.0
    """How long an admitted large frame may take to arrive."""
    has_broker: Callable[[Channel], bool] = _has_none
    """Whether a broker is registered over the connection: it doesn't wait behind strangers."""
    lookup_cache: LookupCache | None = None
    """Cache that is asked for the whole answer to a request before the request is decoded."""
    is_cache_open: bool = True
    """Whether every peer may have its answers; if not, the handler says of each, by `reader.use_cache`."""
    on_connect: Callable[[Channel], None] = _nobody
    on_close: Callable[[Channel], None] = _nobody
    connections: set[Any] = field(default_factory=set)
    log_limit: LogLimit = field(default_factory=lambda: LogLimit(_log))

    @property
    def first_cache(self) -> LookupCache | None:
        """What a connection asks before anything is known of its peer."""
        return self.lookup_cache if self.is_cache_open else None

    def failure_response(self, request: RemotingCommand, error: Exception, channel: Channel) -> Response:
        """Make the answer for an error of the request; a bug is logged and answered with code 1."""
        if isinstance(error, RequestError):
            return Response(error.code, error.remark)
        self.counters.handler_errors += 1
        self.log_limit.log(logging.ERROR, "request code %d of %r failed", request.code, channel, error=error)
        return Response(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
