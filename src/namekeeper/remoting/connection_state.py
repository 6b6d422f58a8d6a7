"""The state of a server's connection: one enum, and the table of its transitions.

Each state decides three things: whether the connection takes requests, whether the event loop reads from its
socket, and whether the server holds up its peer. No flag beside the state repeats one of them.
"""

from collections.abc import Mapping
from enum import Enum

__all__ = [
    "ARRIVING",
    "CLOSED",
    "CLOSING",
    "FLOWING",
    "FLUSHING",
    "HANDED_OFF",
    "HELD_UP",
    "UNREAD",
    "ConnectionState",
    "next_state",
]


class ConnectionState(Enum):
    """The states of a connection, from the first byte to the last."""

    FLOWING = "flowing"
    """The server answers requests as they arrive. No request waits."""
    ARRIVING = "arriving"
    """A large frame arrives that the budget has admitted. No request waits."""
    HELD_UP = "held_up"
    """The server does not read: requests wait for time, for the budget, for room or for earlier answers."""
    UNREAD = "unread"
    """The server does not read, because the peer does not read its answers."""
    HANDED_OFF = "handed_off"
    """The native thread has the socket. No request waits, and no answer is pending."""
    CLOSING = "closing"
    """Either side has closed the connection. The application does not know yet."""
    FLUSHING = "flushing"
    """The application knows of the close. The transport still writes the remaining answers."""
    CLOSED = "closed"
    """The transport has lost the socket."""

    __hash__ = object.__hash__  # each member is one object, and the hash of `Enum` is a call of Python

    @property
    def is_open(self) -> bool:
        """Whether the connection can carry requests."""
        return self is not CLOSING and self is not FLUSHING and self is not CLOSED

    @property
    def is_read(self) -> bool:
        """Whether the event loop reads from the socket."""
        return self is FLOWING or self is ARRIVING

    @property
    def is_paused(self) -> bool:
        """Whether the server has stopped to read, so that requests of the peer wait unread."""
        return self is HELD_UP or self is UNREAD


FLOWING, ARRIVING, HELD_UP, UNREAD, HANDED_OFF, CLOSING, FLUSHING, CLOSED = ConnectionState

_NEXT: Mapping[ConnectionState, frozenset[ConnectionState]] = {
    FLOWING: frozenset({ARRIVING, HELD_UP, UNREAD, HANDED_OFF, CLOSING, CLOSED}),
    ARRIVING: frozenset({FLOWING, HELD_UP, UNREAD, CLOSING, CLOSED}),
    HELD_UP: frozenset({FLOWING, ARRIVING, UNREAD, CLOSING, CLOSED}),
    UNREAD: frozenset({HELD_UP, CLOSING, CLOSED}),
    HANDED_OFF: frozenset({FLOWING, CLOSING, CLOSED}),
    CLOSING: frozenset({FLUSHING, CLOSED}),
    FLUSHING: frozenset({CLOSED}),
    CLOSED: frozenset(),
}


def next_state(now: ConnectionState, then: ConnectionState) -> ConnectionState:
    """Return `then`; raise RuntimeError if no connection may go there from `now`: a bug of the caller."""
    if then not in _NEXT[now]:
        raise RuntimeError(f"a connection can't go from {now.value} to {then.value}")
    return then
