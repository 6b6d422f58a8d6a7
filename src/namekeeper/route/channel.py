"""A connection as the route tables see it."""

from namekeeper.model.broker import BrokerKey

__all__ = ["Channel"]

MAX_CARRIED = 4_096
"""Brokers that one connection may speak for before the oldest is forgotten: real ones speak for one."""


class Channel:
    """One connection: who is at the other end, whether it is still open, whom it spoke for.

    The edge owns it and clears `is_open` at the moment a close is seen; the tables keep a reference for
    each registration that came over it.
    """

    __slots__ = ("carried", "channel_id", "claimed_addr", "is_open", "is_paused", "is_spared", "remote_addr")

    def __init__(self, channel_id: int, remote_addr: str) -> None:
        self.channel_id = channel_id
        self.remote_addr = remote_addr
        """The peer's socket address, or what a trusted PROXY header says."""
        self.claimed_addr: str | None = None
        """What an untrusted PROXY header says: for logs only."""
        self.is_open = True
        self.is_paused = False
        """Whether *we* stopped reading from it: its brokers can't be heard."""
        self.is_spared = False
        """Whether its brokers don't expire: while it is paused, and until a scan finds it read from again."""
        self.carried: dict[BrokerKey, int] = {}
        """Broker -> the newest generation when this connection first carried a 103, 322 or 904 of it."""

    def __repr__(self) -> str:
        return f"Channel({self.channel_id}, {self.remote_addr})"

    def pause(self) -> None:
        """Say that we don't read from it."""
        self.is_paused = self.is_spared = True

    def resume(self) -> None:
        """Say that we read from it again: what its brokers sent meanwhile is yet to come."""
        self.is_paused = False

    def note_carried(self, broker: BrokerKey, *, gen: int) -> None:
        """Remember that this connection spoke for `broker` while `gen` was the newest generation."""
        if broker not in self.carried:
            if len(self.carried) >= MAX_CARRIED:
                del self.carried[next(iter(self.carried))]
            self.carried[broker] = gen
