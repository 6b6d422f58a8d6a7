"""Counters of the remoting layer: plain integers that `/metrics` reads."""

from msgspec import Struct

__all__ = ["RemotingCounters"]


class RemotingCounters(Struct):
    """Totals since the start of one server, and its present numbers.

    The hot path touches none of these: connections count their own bytes, and the server adds them up on
    demand.
    """

    connections_open: int = 0
    """Connections that can carry requests now."""
    connections_in_handshake: int = 0
    """Accepted sockets that have sent nothing yet, or whose TLS handshake is under way."""
    connections_total: int = 0
    """Connections that got as far as carrying requests."""
    connections_refused: int = 0
    """Sockets closed on arrival: too many connections, no descriptors left."""
    connections_rejected: int = 0
    """Sockets closed because of their first bytes: TLS or plain where it is not allowed, a broken PROXY
    header."""
    bytes_in: int = 0
    """Bytes of frames read, after TLS."""
    bytes_out: int = 0
    """Bytes of answers written, before TLS."""
    protocol_errors: int = 0
    """Connections closed because their bytes were no frame."""
    handler_errors: int = 0
    """Requests answered with code 1 because of a bug."""
    idle_closes: int = 0
    """Connections closed because they had no traffic for too long."""
    overdue_closes: int = 0
    """Connections closed because an admitted large frame did not arrive in time."""
    tls_memory_closes: int = 0
    """TLS connections closed because all of them took too much memory."""
    tls_bytes: int = 0
    """Memory of TLS connections, as estimated."""
    reading_pauses: int = 0
    """Number of times that the server paused reading from a connection."""
    tls_failures: int = 0
    """TLS handshakes that failed."""
    proxy_claims: int = 0
    """PROXY headers from networks that are not trusted."""
    large_bytes_in_flight: int = 0
    """Bytes of admitted large frames that are arriving or not answered yet."""
    large_frames_waiting: int = 0
    """Large frames that wait for admission."""
