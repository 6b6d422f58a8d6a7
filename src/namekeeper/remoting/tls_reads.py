"""Divides the time in which an event-loop iteration decrypts what peers send.

A TLS transport decrypts at once whatever has arrived, in records whose size the peer chooses: 64 KiB in
records of one byte take 6 ms of a processor. So an iteration that has decrypted for its time stops, and
what arrives stays encrypted. The next iterations go on with a few connections each. Hosts are served
round-robin.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Protocol

from namekeeper.remoting.scheduler import Peer, WaitingCalls

__all__ = ["CONNECTIONS_AT_ONCE", "READ_SECONDS", "Decrypting", "TlsReads"]

READ_SECONDS = 0.02
"""Time in one iteration of decrypting, and of serving what was decrypted, until further connections wait."""
CONNECTIONS_AT_ONCE = 8
"""Connections that go on in one iteration: at most 50 ms if each has 64 KiB in tiny records."""


def _call_soon(call: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(call)


class Decrypting(Protocol):
    """A connection that decrypts what arrives, unless it has to wait."""

    @property
    def peer(self) -> Peer:
        """The host that it counts for, and whether a broker is registered over it."""

    def hold(self) -> None:
        """Decrypt nothing."""

    def go_on(self) -> bool:
        """Decrypt again, also what has arrived meanwhile; returns whether it is open."""


class TlsReads:
    """Decides which TLS connections of one event loop decrypt.

    Args:
        clock: counts seconds, from more than 0.
        call_soon: calls a function in the next iteration; by default the running loop's.
    """

    def __init__(
        self,
        clock: Callable[[], float] = perf_counter,
        call_soon: Callable[[Callable[[], None]], object] = _call_soon,
    ) -> None:
        self._clock, self._call_soon = clock, call_soon
        self._flowing: dict[Decrypting, None] = {}
        self._waiting = WaitingCalls()
        self._deadline = 0.0
        """End of the time of this iteration; 0 before anything was decrypted."""

    def add(self, connection: Decrypting) -> None:
        """Let a connection decrypt."""
        self._flowing[connection] = None

    def discard(self, connection: Decrypting) -> None:
        """Forget a connection that has closed."""
        self._flowing.pop(connection, None)

    def note(self) -> None:
        """Note that a connection has decrypted something; hold all others if it took too long."""
        if not self._deadline:
            self._begin()
        elif self._flowing and self._clock() > self._deadline:
            flowing, self._flowing = self._flowing, {}
            for connection in flowing:
                connection.hold()
                self._waiting.add(connection.peer, partial(self._release, connection))

    def _begin(self) -> None:
        self._deadline = self._clock() + READ_SECONDS
        self._call_soon(self._iterate)

    def _iterate(self) -> None:
        if not self._waiting.count:
            self._deadline = 0.0
            return
        self._begin()
        for _ in range(min(CONNECTIONS_AT_ONCE, self._waiting.count)):
            self._waiting.take()()

    def _release(self, connection: Decrypting) -> None:
        if connection.go_on():
            self._flowing[connection] = None
