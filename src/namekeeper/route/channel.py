"""A connection as the route tables see it."""

from namekeeper.model.broker import BrokerKey

__all__ = ["Channel"]

MAX_CARRIED = 4_096
"""Brokers remembered for one connection; a real connection carries the requests of one broker."""


class Channel:
    """One connection: its peer, whether it is open, and the brokers whose requests it carried.

    The network code owns it and clears `is_open` as soon as it sees the close. The tables keep a reference
    for each registration that came over it.
    """

    __slots__ = ("carried", "channel_id", "is_open", "is_paused", "is_spared", "remote_addr")

    def __init__(self, channel_id: int, remote_addr: str) -> None:
        self.channel_id = channel_id
        self.remote_addr = remote_addr
        """The peer's socket address, or the one in a trusted PROXY header."""
        self.is_open = True
        self.is_paused = False
        """Whether *we* stopped reading from it: requests of its brokers wait unread."""
        self.is_spared = False
        """Whether its brokers don't expire: while it is paused, and in the first scan after that."""
        self.carried: dict[BrokerKey, int] = {}
        """Broker -> the newest generation when this connection first carried a 103, 322 or 904 of it."""

    def __repr__(self) -> str:
        return f"Channel({self.channel_id}, {self.remote_addr})"

    def pause(self) -> None:
        """Note that we stop reading from it."""
        self.is_paused = self.is_spared = True

    def resume(self) -> None:
        """Note that we read from it again; what its brokers sent meanwhile is not read yet."""
        self.is_paused = False

    def note_carried(self, broker: BrokerKey, *, gen: int) -> None:
        """Note that a request of `broker` came over this connection while `gen` was the newest generation."""
        if broker not in self.carried:
            if len(self.carried) >= MAX_CARRIED:
                del self.carried[next(iter(self.carried))]
            self.carried[broker] = gen
