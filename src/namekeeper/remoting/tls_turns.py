"""Limits the TLS handshakes of one host that are under way: others of it wait, first come, first served.

A handshake takes the loop up to a millisecond, and some 70 KiB until it is over. A client's first message
costs its sender nothing, so thousands of connections could send theirs at once.
"""

from collections import deque
from typing import Generic, TypeVar

__all__ = ["MAX_HANDSHAKES", "TlsTurns"]

MAX_HANDSHAKES = 64
"""Handshakes of one host at once: some 50 ms of the loop if all are at the same point."""

T = TypeVar("T")


class TlsTurns(Generic[T]):
    """Who shakes hands, and who waits, by host."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._under_way: dict[str, int] = {}
        self._waiting: dict[str, deque[T]] = {}

    def begin(self, host: str, newcomer: T) -> bool:
        """Return whether a newcomer may begin; if not, it waits."""
        count = self._under_way.get(host, 0)
        if count >= MAX_HANDSHAKES:
            self._waiting.setdefault(host, deque()).append(newcomer)
            return False
        self._under_way[host] = count + 1
        return True

    def end(self, host: str) -> T | None:
        """Note that one has ended; return who may begin now, if anybody waits."""
        waiting = self._waiting.get(host)
        if waiting:
            first = waiting.popleft()
            if not waiting:
                del self._waiting[host]
            return first
        self._under_way[host] -= 1
        if not self._under_way[host]:
            del self._under_way[host]
        return None

    def is_crowded(self, host: str) -> bool:
        """Whether somebody waits."""
        return host in self._waiting

    def forget_waiting(self) -> None:
        """Forget who waits: the server closes."""
        self._waiting.clear()
