"""Objects that all connections of a server share: the handler, the limits, and the counters over all."""

import logging
from collections.abc import Callable, Sized
from typing import Any

from msgspec import Struct, field

from namekeeper.access.judged import subject_of
from namekeeper.access.peer import CERTIFICATE_NAMES, certificate_names, has_too_many_names
from namekeeper.errors import RequestError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.counters import RemotingCounters
from namekeeper.remoting.front import Front
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.remoting.tls_memory import DEFAULT_TLS_BYTES, TlsMemory
from namekeeper.remoting.unread import UnreadAnswers
from namekeeper.remoting.unserved import UnservedRequests
from namekeeper.route.channel import Channel
from namekeeper.wire.codes import ResponseCode, SerializeType
from namekeeper.wire.command import RemotingCommand, Response
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES

__all__ = [
    "WRITE_BUFFER_BYTES",
    "Answering",
    "ConnectionContext",
    "ConnectionHooks",
    "ConnectionLimits",
    "Handler",
]

WRITE_BUFFER_BYTES = (64 * 1024, 256 * 1024)
"""Low and high mark of the bytes that a peer has not read, beyond the kernel's buffers. Above the high mark
the server stops reading from the peer, at the low mark it goes on."""
SHARED_WRITE_BUFFER_BYTES = 16 * 1024 * 1024
"""Most bytes of all high marks: bytes below a mark count for no limit over all connections. A further
connection has the marks `NO_BUFFER_BYTES`."""
NO_BUFFER_BYTES = (0, 1)
"""Marks with which the server stops reading from a peer as soon as the kernel's buffers are full."""
DEFAULT_BODY_BUDGET_BYTES = 256 * 1024 * 1024
"""Sixteen frames of the largest size, or a storm of 300 brokers with 10,000 topics each, compressed."""

_log = logging.getLogger("namekeeper.remoting")

Handler = Callable[[RemotingCommand, Any], Response | None]
"""Answers a request that came over a `ServerConnection`. After None, the caller calls the connection's
`respond` later, once for this very object, also if it is one-way."""


def _nobody(_channel: Channel) -> None:
    """Do nothing: the default of a callback."""


def _has_none(_channel: Channel) -> bool:
    """Report that no broker is registered: the default."""
    return False


def _is_short(_lookup: RemotingCommand) -> bool:
    """Report that a lookup takes no long time: the default."""
    return False


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """Limits of the connections of a server."""

    max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES
    """Size of a frame with its length field."""
    write_buffer_bytes: tuple[int, int] = WRITE_BUFFER_BYTES
    """Low and high water mark of the answers that wait for the peer to read."""
    max_connections: int | None = None
    """None: as many as the limit of descriptors allows, which bounds every other number."""
    idle_seconds: float = 120.0
    """Idle time in both directions after which the server closes a connection; 0: never."""
    large_frame_seconds: float = 30.0
    """Time in which an admitted large frame must arrive."""
    body_budget_bytes: int = DEFAULT_BODY_BUDGET_BYTES
    """Bytes of large frames arriving or not answered yet, over all connections."""
    tls_bytes: int = DEFAULT_TLS_BYTES
    """Memory of all TLS connections."""


class Answering(Struct, frozen=True, kw_only=True):
    """Means of answering requests, besides the handler."""

    serialize_type: SerializeType = SerializeType.JSON
    """Header form of answers; peers of language CPP get JSON in any case (trap T2)."""
    lookup_cache: LookupCache | None = None
    """Cache that may have the complete answer to a request, queried before the request is decoded."""
    is_cache_open: bool = True
    """Whether every peer may have its answers; if not, the handler decides for each, by `reader.use_cache`.
    """
    front: Front | None = None
    """Answers connections whose lookups are in the cache; needs `lookup_cache`."""
    watchers: Sized = ()
    """Connections of another port, which need their descriptors more than the native fast path does."""
    scheduler: Scheduler | None = None
    """Divides the time of the event loop, also among work of the application. None: one of its own."""

    @property
    def first_cache(self) -> LookupCache | None:
        """The cache that a connection queries before the server knows anything of its peer."""
        return self.lookup_cache if self.is_cache_open else None


class ConnectionHooks(Struct, frozen=True, kw_only=True):
    """Calls from the server to the application about connections that can carry requests."""

    has_broker: Callable[[Channel], bool] = _has_none
    """Whether a broker is registered over the connection: its large frames don't wait behind strangers."""
    takes_long: Callable[[RemotingCommand], bool] = _is_short
    """Whether a lookup takes long: it does not wait in one line with short ones."""
    on_connect: Callable[[Channel], None] = _nobody
    """Called once, when the connection can carry requests."""
    on_close: Callable[[Channel], None] = _nobody
    """Called once, when either side has closed it; its channel is not open any more."""


class ConnectionContext(Struct, kw_only=True, eq=False):
    """The objects that all connections of a server share."""

    handler: Handler
    budget: BodyBudget
    limits: ConnectionLimits = ConnectionLimits()
    answering: Answering = Answering()
    hooks: ConnectionHooks = ConnectionHooks()
    scheduler: Scheduler = field(default_factory=Scheduler)
    """The time of everything but lookups."""
    unread: UnreadAnswers = field(default_factory=UnreadAnswers)
    unserved: UnservedRequests = field(default_factory=UnservedRequests)
    tls_memory: TlsMemory = field(default_factory=TlsMemory)
    counters: RemotingCounters = field(default_factory=RemotingCounters)
    connections: set[Any] = field(default_factory=set)
    log_limit: LogLimit = field(default_factory=lambda: LogLimit(_log))

    def write_buffer_limits(self) -> dict[str, int]:
        """Return the arguments of `set_write_buffer_limits` for one more connection."""
        low, high = self.limits.write_buffer_bytes
        if len(self.connections) * high >= SHARED_WRITE_BUFFER_BYTES:
            low, high = NO_BUFFER_BYTES
        return {"high": high, "low": low}

    def takes_certificate(self, channel: Channel, certificate: dict[str, Any] | None) -> bool:
        """Keep the names of a peer's certificate, and drop the rest: the transport would keep it.

        Args:
            channel: the connection with the peer.
            certificate: as `ssl` shows it; None without TLS.

        Returns:
            whether the connection may stay.
        """
        if not certificate:
            return True
        may_stay = not has_too_many_names(certificate)
        if may_stay:
            channel.certificate = certificate_names(certificate)
            channel.certificate_name = subject_of(channel.certificate)
        else:
            reason = "closing %r: its certificate has more than %d names"
            self.log_limit.log(logging.WARNING, reason, channel, CERTIFICATE_NAMES)
        certificate.clear()
        return may_stay

    def failure_response(self, request: RemotingCommand, error: Exception, channel: Channel) -> Response:
        """Make the answer for an error of the request; log a bug and answer it with code 1."""
        if isinstance(error, RequestError):
            return Response(error.code, error.remark)
        self.counters.handler_errors += 1
        self.log_limit.log(logging.ERROR, "request code %d of %r failed", request.code, channel, error=error)
        return Response(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
