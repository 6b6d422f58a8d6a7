"""The large frames of one connection: their claims on the budget, and how long the arriving one may take."""

import asyncio
from collections.abc import Container, Iterable
from typing import Protocol

from namekeeper.lookup_cache.reader import Item
from namekeeper.remoting.budget import BudgetClaim
from namekeeper.route.channel import Channel

__all__ = ["LARGE_FRAME_BYTES", "LargeFrames", "Sender"]

LARGE_FRAME_BYTES = 64 * 1024
"""Frames up to this size need no claim on the budget: a transport reads as much at once anyway."""
ARRIVAL_LOOK_SECONDS = 1.0
MIN_ARRIVAL_BYTES = 64 * 1024
MAX_STALLS = 2
"""While others wait for room, a large frame must bring that much in one of two looks: slow links do."""


class Sender(Protocol):
    """The connection over which a large frame arrives."""

    bytes_in: int
    channel: Channel

    def close_overdue(self) -> None:
        """Close it: the frame did not arrive in time."""


class LargeFrames:
    """The claim of the frame that arrives, and those of complete requests that are not answered yet."""

    __slots__ = ("_timer", "arriving", "claims")

    def __init__(self) -> None:
        self.claims: dict[int, BudgetClaim] = {}
        """Claims of complete requests, by the identity of the request."""
        self.arriving: BudgetClaim | None = None
        """The claim of the frame that arrives, granted or not."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_admitted(self) -> bool:
        """Whether a frame arrives and its claim is granted."""
        return self.arriving is not None and self.arriving.is_granted

    def complete(self, request: Item) -> None:
        """Note that the frame that was arriving is here: it is this request."""
        if self.arriving is not None:
            self.claims[id(request)] = self.arriving
            self.arriving = None
            self._stop_timer()

    def release(self, identity: int) -> None:
        """Give back what the request with this identity holds, if it holds anything."""
        claim = self.claims.pop(identity, None)
        if claim is not None:
            claim.release()

    def release_answered(self, requests: Iterable[Item], owed: Container[object]) -> None:
        """The same for each of these, unless its answer is still owed."""
        for identity in map(id, requests):
            if identity in self.claims and identity not in owed:
                self.release(identity)

    def release_all(self) -> None:
        """Give everything back: the connection is closed."""
        self._stop_timer()
        for claim in self.claims.values():
            claim.release()
        self.claims.clear()
        if self.arriving is not None:
            self.arriving.release()
            self.arriving = None

    def keeps_waiting(self, request: Item) -> bool:
        """Whether this request waits for the budget."""
        claim = self.claims.get(id(request))
        return claim is not None and not claim.is_granted

    def watch(self, sender: Sender, seconds: float) -> None:
        """Have `sender` closed if its admitted frame takes too long; called again, it changes nothing.

        It takes too long after `seconds`, or when it comes too slowly while others wait for its room.
        """
        if self._timer is None and self.is_admitted:
            self._look_later(sender, seconds, stalls=0)

    def _look_later(self, sender: Sender, seconds_left: float, *, stalls: int) -> None:
        seconds = min(ARRIVAL_LOOK_SECONDS, seconds_left)
        self._timer = asyncio.get_running_loop().call_later(
            seconds, self._look, sender, seconds_left - seconds, stalls, sender.bytes_in
        )

    def _look(self, sender: Sender, seconds_left: float, stalls: int, bytes_before: int) -> None:
        claim = self.arriving
        is_slow = sender.bytes_in - bytes_before < MIN_ARRIVAL_BYTES and not sender.channel.is_paused
        stalls = stalls + 1 if is_slow and claim is not None and claim.is_wanted else 0
        if seconds_left > 0 and stalls < MAX_STALLS:
            self._look_later(sender, seconds_left, stalls=stalls)
            return
        if claim is not None:
            claim.waste()
        sender.close_overdue()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
