"""The reason for the end of a connection, from the transport or the kernel."""

import os
import socket
import ssl
from typing import Any

from namekeeper.route.channel import ClosedBy

__all__ = ["closed_by", "is_socket_closed"]

_TCP_CLOSE = 7
"""The state of a socket after a reset, in `tcp_info`; after an end by the peer it is CLOSE_WAIT."""


def closed_by(error: Exception | None) -> ClosedBy:
    """Return the reason for a connection that its transport has lost.

    Args:
        error: the transport's report; None: the peer closed it.
    """
    if error is None:
        return ClosedBy.PEER
    return ClosedBy.TLS if isinstance(error, ssl.SSLError) else ClosedBy.RESET


def is_socket_closed(sock: Any) -> bool:  # noqa: ANN401 - a socket, or what a loop has in its place
    """Return whether the kernel has closed a socket, as it does after a reset."""
    try:
        with socket.socket(fileno=os.dup(sock.fileno())) as own:
            return own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_CLOSE
    except (OSError, AttributeError):  # no TCP, or a system without this
        return False
