"""Memory of TLS connections: what each takes, and what bursts made its buffers keep.

The buffers of TLS grow to the most bytes that they had at once, and never shrink. So a connection counts by
its largest read and its largest write, also when it has been quiet for hours.
"""

from namekeeper.remoting.unserved import BytesOfHost, RequestHolder

__all__ = ["DEFAULT_TLS_BYTES", "TlsMemory", "estimated_bytes"]

DEFAULT_TLS_BYTES = 384 * 1024 * 1024
"""About 6,000 quiet connections. One that reads and writes as much as it can at once takes six times as much.
"""
QUIET_BYTES = 64 * 1024
"""A connection without much traffic, as measured with 1,000 connections: 60 KiB."""
HOST_BYTES = 2 * 1024 * 1024
"""A host with less, 32 quiet connections, loses none: thousands of clients over TLS stay connected. It is an
eighth of a smaller limit."""
READ_COPIES = 2
"""The bytes of a read are in two buffers: encrypted and decrypted."""


def estimated_bytes(largest_read: int, largest_write: int) -> int:
    """Estimate the memory of a TLS connection.

    Args:
        largest_read: most bytes that one read of the connection brought.
        largest_write: most bytes that waited for the peer to read, beyond the kernel's buffers.
    """
    return QUIET_BYTES + READ_COPIES * largest_read + largest_write


class TlsMemory:
    """Bytes of all TLS connections of a server; touched from one event loop only.

    Args:
        limit: most bytes.
    """

    def __init__(self, limit: int = DEFAULT_TLS_BYTES) -> None:
        self._limit = limit
        self._of_host = min(HOST_BYTES, limit // 8)
        """Bytes of a host that are not taken from it."""
        self._hosts: dict[str, BytesOfHost] = {}
        self._large: dict[str, BytesOfHost] = {}
        """The hosts with more than is left to each."""
        self.bytes = 0
        """Bytes of all connections."""
        self.closes = 0
        """Connections that were closed because of the limit."""

    def keep(self, holder: RequestHolder, host: str, size: int) -> None:
        """Note the bytes of a connection; if the total exceeds the limit, close connections.

        The host with the most bytes loses one: the one that grew, if it is of this host and has no broker;
        else the oldest one without a broker. So a host with too many connections keeps those that it has.
        """
        peer = self._hosts.setdefault(host, BytesOfHost())
        self.bytes += peer.keep(holder, size)
        if peer.bytes > self._of_host:
            self._large[host] = peer
        while self.bytes > self._limit and self._large:
            name, largest = max(self._large.items(), key=lambda each: (each[1].bytes, each[0] == host))
            has_grown = holder in largest.held and not holder.has_broker
            victim = holder if has_grown else largest.next_to_go()
            self.let_go(victim, name)
            self.closes += 1
            victim.abort()

    def let_go(self, holder: RequestHolder, host: str) -> None:
        """Note that a connection is closed; may be called twice."""
        peer = self._hosts.get(host)
        if peer is not None:
            self.bytes -= peer.let_go(holder)
            if peer.bytes <= self._of_host:
                self._large.pop(host, None)
            if not peer.held:
                del self._hosts[host]
