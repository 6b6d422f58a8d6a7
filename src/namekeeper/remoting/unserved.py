"""Bytes of requests that are buffered and not answered, over all connections.

These are parts of frames, requests that wait for their turn, and requests whose answers come later. Each
connection has a bound of its own; thousands of them together have this one. All connections from one host are
one peer.
"""

from typing import Protocol

__all__ = ["MIN_COUNTED_BYTES", "BytesOfHost", "RequestHolder", "UnservedRequests"]

MAX_UNSERVED_BYTES = 96 * 1024 * 1024
"""A storm of 300 brokers behind one address has less: of a large frame one read (250 KiB) counts here, until
`BodyBudget` counts the complete frame."""
MIN_COUNTED_BYTES = 2 * 1024
"""Smaller numbers are not counted: half a lookup must cost nothing, and 20,000 connections have 40 MiB at
most."""
MAX_LOOKED_AT = 64
"""Connections of a host that are examined to find one without a broker."""


class RequestHolder(Protocol):
    """A connection."""

    @property
    def has_broker(self) -> bool:
        """Whether a broker is registered over it."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...


class UnservedRequests:
    """Buffered bytes of connections; touched from one event loop only."""

    __slots__ = ("_hosts", "_limit", "bytes")

    def __init__(self, limit: int = MAX_UNSERVED_BYTES) -> None:
        """Start empty."""
        self._limit = limit
        self._hosts: dict[str, BytesOfHost] = {}
        self.bytes = 0
        """Bytes of all connections."""

    @property
    def is_tight(self) -> bool:
        """Whether half of the limit is used: then connections with pending answers are not read."""
        return self.bytes > self._limit // 2

    def keep(self, holder: RequestHolder, host: str, size: int) -> int:
        """Note the buffered bytes of a connection; return the number that is counted.

        If the total exceeds the limit, disconnect connections of the host with the most buffered bytes.
        Connections without a registered broker go first, oldest buffer first.
        """
        if size < MIN_COUNTED_BYTES:
            self.let_go(holder, host)
            return 0
        peer = self._hosts.get(host)
        if peer is None:
            peer = self._hosts[host] = BytesOfHost()
        self.bytes += peer.keep(holder, size)
        while self.bytes > self._limit:
            name, largest = max(self._hosts.items(), key=lambda each: each[1].bytes)
            found = largest.next_to_go()
            self.let_go(found, name)
            found.abort()
        return size

    def let_go(self, holder: RequestHolder, host: str) -> None:
        """Note that a connection has no buffered bytes, or is closed; may be called twice."""
        peer = self._hosts.get(host)
        if peer is not None:
            self.bytes -= peer.let_go(holder)
            if not peer.held:
                del self._hosts[host]


class BytesOfHost:
    """The connections of one host, with a number of bytes for each."""

    __slots__ = ("bytes", "held")

    def __init__(self) -> None:
        self.bytes = 0
        self.held: dict[RequestHolder, int] = {}
        """The connection with the oldest buffer comes first."""

    def keep(self, holder: RequestHolder, size: int) -> int:
        """Note the bytes of a connection; return the growth."""
        more = size - self.held.get(holder, 0)
        self.held[holder] = size
        self.bytes += more
        return more

    def let_go(self, holder: RequestHolder) -> int:
        """Forget a connection; return its buffered bytes."""
        size = self.held.pop(holder, 0)
        self.bytes -= size
        return size

    def next_to_go(self) -> RequestHolder:
        """The connection that is disconnected next."""
        first = [holder for holder, _ in zip(self.held, range(MAX_LOOKED_AT), strict=False)]
        return next((holder for holder in first if not holder.has_broker), first[0])
