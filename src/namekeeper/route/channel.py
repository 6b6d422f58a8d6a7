"""A connection as the route tables see it."""

from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Any

from namekeeper.model.broker import BrokerKey, Owner

__all__ = ["Channel", "ClosedBy", "host_of"]

MAX_CARRIED_BYTES = 64 * 1024
"""Memory for the brokers whose requests one connection carried, about 200; a real connection carries one
broker."""

ENTRY_BYTES = 250
"""Memory of such a broker besides the characters of its key."""


class ClosedBy(StrEnum):
    """The party or the event that ended a connection."""

    PEER = "peer"
    """The peer: its process ended, or it closed the connection."""
    RESET = "reset"
    """A reset, or another failure of the network."""
    IDLE = "idle"
    """This server: nothing was read or written for `serverChannelMaxIdleTimeSeconds`."""
    LIMIT = "limit"
    """This server: the connection exceeded a limit."""
    PROTOCOL_ERROR = "protocol_error"
    """This server: the bytes were no frame."""
    TLS = "tls"
    """A failure of TLS."""
    FRONT = "front"
    """A failure of the native front."""
    SERVER = "server"
    """This server, because it stops, or because the last broker of the connection expired."""


class Channel:
    """One connection: its peer, whether it is open, and the brokers whose requests it carried.

    The network code owns it and clears `is_open` as soon as it sees the close. The tables keep a reference
    for each registration that came over it.
    """

    __slots__ = (
        "_carried_bytes",
        "access",
        "carried",
        "certificate",
        "certificate_name",
        "channel_id",
        "closed_by",
        "is_open",
        "is_paused",
        "is_spared",
        "judge_brokers",
        "may_take_over",
        "remote_addr",
        "user",
    )

    def __init__(self, channel_id: int, remote_addr: str) -> None:
        self.channel_id = channel_id
        self.remote_addr = remote_addr
        """The peer's socket address, or the one in a trusted PROXY header."""
        self.certificate: tuple[str, ...] = ()
        """The names in the peer's certificate, if TLS has requested and verified one."""
        self.certificate_name = ""
        """The first of them, cut; empty if there is none."""
        self.access: Any = None
        """The state of access control for the peer; None before its first request, and without rules."""
        self.user = ""
        """User with a valid signature on the request that is handled now; empty without one."""
        self.judge_brokers: Callable[[Collection[str]], None] | None = None
        """Checks the request that is handled now by broker names in its body: raises RequestError if access
        rules refuse them. None if the decision does not depend on them."""
        self.may_take_over = False
        """Whether an access rule lets the request that is handled now replace a live broker of another host
        (protectBrokerNames)."""
        self.is_open = True
        self.closed_by: ClosedBy | None = None
        """None while it is open."""
        self.is_paused = False
        """Whether *this server* stopped reading from it: requests of its brokers wait unread."""
        self.is_spared = False
        """Whether its brokers don't expire: while it is paused, and in the first scan after that."""
        self.carried: dict[BrokerKey, int] = {}
        """Broker -> the newest generation when this connection first carried a 103, 322 or 904 of it."""
        self._carried_bytes = 0

    @property
    def host(self) -> str:
        """The peer's address without its port: all connections from one host are one peer."""
        return host_of(self.remote_addr)

    @property
    def owner(self) -> Owner:
        """The sender of the request that is handled now."""
        return Owner(self.host, self.user, self.certificate_name)

    def __repr__(self) -> str:
        return f"Channel({self.channel_id}, {self.remote_addr})"

    def pause(self) -> None:
        """Note that the server stops reading from it."""
        self.is_paused = self.is_spared = True

    def resume(self) -> None:
        """Note that the server reads from it again; requests that arrived meanwhile are still unread."""
        self.is_paused = False

    def note_carried(self, broker: BrokerKey, *, gen: int) -> None:
        """Note that a request of `broker` came over this connection while `gen` was the newest generation."""
        if broker not in self.carried:
            self.carried[broker] = gen
            self._carried_bytes += _bytes(broker)
            while self._carried_bytes > MAX_CARRIED_BYTES:
                oldest = next(iter(self.carried))
                del self.carried[oldest]
                self._carried_bytes -= _bytes(oldest)


def host_of(remote_addr: str) -> str:
    """The address of a peer without its port."""
    return remote_addr.rpartition(":")[0]


def _bytes(broker: BrokerKey) -> int:
    return ENTRY_BYTES + sum(map(len, broker))
