"""The TLS connections of a server that decrypt at once what arrives; all wait after an iteration took long.

Nobody can know which of them have got something.
"""

from functools import partial
from typing import Protocol

from namekeeper.remoting.scheduler import Peer, Scheduler

__all__ = ["Decrypting", "TlsReads"]


class Decrypting(Protocol):
    """A connection that decrypts what arrives, unless it has to wait."""

    @property
    def peer(self) -> Peer:
        """The host that it counts for, and whether a broker is registered over it."""

    def pause_decrypting(self) -> None:
        """Decrypt nothing."""

    def go_on(self) -> bool:
        """Decrypt again, also what has arrived meanwhile; returns whether it is open."""


class TlsReads:
    """Has TLS connections decrypt within the time of a scheduler.

    Args:
        scheduler: of the event loop.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._flowing: dict[Decrypting, None] = {}

    def add(self, connection: Decrypting) -> None:
        """Let a connection decrypt."""
        self._flowing[connection] = None

    def discard(self, connection: Decrypting) -> None:
        """Forget a connection that has closed."""
        self._flowing.pop(connection, None)

    def note(self) -> None:
        """Note that a connection has decrypted something; have all wait if that took too long."""
        if self._scheduler.has_time_to_read() or not self._flowing:
            return
        flowing, self._flowing = self._flowing, {}
        for connection in flowing:
            connection.pause_decrypting()
            self._scheduler.wait_to_read(partial(self._go_on, connection), connection.peer)

    def _go_on(self, connection: Decrypting) -> None:
        if connection.go_on():
            self._flowing[connection] = None
