"""Turns for TLS handshakes: a limit for each host, a limit for all, and hosts are served round-robin."""

from collections import deque
from typing import Generic, TypeVar

__all__ = ["HURRIED_SECONDS", "MAX_HANDSHAKES", "MAX_OF_HOST", "TlsTurns"]

MAX_OF_HOST = 64
"""Handshakes of one host at once: about 50 ms of the loop if all are at the same point."""
MAX_HANDSHAKES = 2 * MAX_OF_HOST
"""Handshakes of all hosts at once. A peer that sends a first message of 128 KiB makes OpenSSL and the
transport keep 0.5 MiB until the handshake is over."""
HURRIED_SECONDS = 2.0
"""Time limit of a handshake while other connections wait for its turn."""

T = TypeVar("T")


class TlsTurns(Generic[T]):
    """Limits the TLS handshakes that are under way; other newcomers wait.

    A handshake takes the loop up to a millisecond, and about 70 KiB until it is over. A client's first
    message costs its sender nothing, so thousands of connections could send theirs at once. Newcomers of one
    host wait in arrival order.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._under_way: dict[str, int] = {}
        self._count = 0
        self._waiting: dict[str, deque[T]] = {}
        """Host -> its newcomers; the host that is next comes first."""

    def begin(self, host: str, newcomer: T) -> bool:
        """Return whether a newcomer may start; if not, it waits."""
        if self._has_room(host):
            self._add(host)
            return True
        self._waiting.setdefault(host, deque()).append(newcomer)
        return False

    def end(self, host: str) -> None:
        """Note the end of a handshake."""
        self._count -= 1
        self._under_way[host] -= 1
        if not self._under_way[host]:
            del self._under_way[host]

    def next(self) -> T | None:
        """Start the handshake of a waiting newcomer, if there is room for one, and return the newcomer."""
        host = next(filter(self._has_room, self._waiting), None) if self._count < MAX_HANDSHAKES else None
        if host is None:
            return None
        waiting = self._waiting.pop(host)
        first = waiting.popleft()
        if waiting:
            self._waiting[host] = waiting
        self._add(host)
        return first

    def is_crowded(self, host: str) -> bool:
        """Whether a newcomer waits for the end of a handshake of this host."""
        return host in self._waiting or (self._count >= MAX_HANDSHAKES and bool(self._waiting))

    @property
    def has_waiting(self) -> bool:
        """Whether any newcomer waits."""
        return bool(self._waiting)

    def forget_waiting(self) -> None:
        """Forget the waiting newcomers: the server closes."""
        self._waiting.clear()

    def _has_room(self, host: str) -> bool:
        return self._count < MAX_HANDSHAKES and self._under_way.get(host, 0) < MAX_OF_HOST

    def _add(self, host: str) -> None:
        self._count += 1
        self._under_way[host] = self._under_way.get(host, 0) + 1
