"""Bytes of large frames in flight, bounded over all connections and shared fairly between waiting peers.

While there is room, no peer has to wait. Without room, registered brokers come first, then the peer that
holds or has wasted the fewest bytes, then first come, first served. All connections from one host are one
peer. Moderate frames have a part of the budget of their own, so none of them waits for the largest frames.
"""

from collections.abc import Callable

__all__ = ["MODERATE_BYTES", "BodyBudget", "BudgetClaim"]

MODERATE_BYTES = 1024 * 1024
"""A registration of about 6,000 topics in plain JSON, or of 60,000 compressed."""


class BudgetClaim:
    """A claim on the budget, for one frame: waiting, then granted, then released."""

    __slots__ = ("_pool", "has_broker", "is_granted", "is_released", "number", "on_granted", "peer", "size")

    def __init__(self, pool: "_Pool", size: int, peer: str, on_granted: Callable[[], None]) -> None:
        self._pool = pool
        self.is_released = False
        self.is_granted = False
        self.has_broker = False
        self.on_granted = on_granted
        self.peer = peer
        self.size = size
        self.number = 0
        """The place in the order of arrival; 0 if the claim never waited."""

    @property
    def is_wanted(self) -> bool:
        """Whether other claims wait for the same part of the budget."""
        return bool(self._pool.waiting)

    def release(self) -> None:
        """Give the bytes back, or leave the queue; may be called twice."""
        if not self.is_released:
            self.is_released = True
            self._pool.give_back(self)

    def waste(self) -> None:
        """Give the bytes back unused: while others wait, the peer's next claims have to wait longer."""
        if not self.is_released:
            wasted = self._pool.wasted
            wasted[self.peer] = wasted.get(self.peer, 0) + self.size
            self.release()


class BodyBudget:
    """The one bound for all large frames that are arriving or not answered yet.

    A frame is admitted by the size that it announces, before its bytes are read. A frame that is larger than
    its part of the budget is admitted alone, so a small budget only slows the server down.
    """

    __slots__ = ("_large", "_moderate", "limit")

    def __init__(self, limit: int) -> None:
        """Start empty; a quarter of `limit` is for moderate frames, if one of them fits into it."""
        self.limit = limit
        quarter = limit // 4
        if quarter >= MODERATE_BYTES:
            self._moderate, self._large = _Pool(quarter), _Pool(limit - quarter)
        else:
            self._moderate = self._large = _Pool(limit)

    @property
    def in_flight(self) -> int:
        """Bytes of the granted claims."""
        return sum(pool.in_flight for pool in {self._moderate, self._large})

    @property
    def waiting(self) -> int:
        """Claims that wait to be granted."""
        return sum(sum(map(len, pool.waiting.values())) for pool in {self._moderate, self._large})

    def ask(
        self, size: int, on_granted: Callable[[], None], *, peer: str = "", has_broker: bool = False
    ) -> BudgetClaim:
        """Claim `size` bytes; `on_granted` is called later unless the claim is granted at once.

        `on_granted` must not ask or release before it returns.

        Args:
            size: the announced size of the frame, in bytes.
            on_granted: called when a claim that had to wait is granted.
            peer: the host that sends the frame.
            has_broker: whether a broker is registered over the connection.
        """
        pool = self._moderate if size <= MODERATE_BYTES else self._large
        claim = BudgetClaim(pool, min(size, pool.limit), peer, on_granted)
        claim.has_broker = has_broker
        pool.ask(claim)
        return claim


class _Pool:
    """A part of the budget with a queue of its own."""

    __slots__ = ("_arrived", "held", "in_flight", "limit", "waiting", "wasted")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_flight = 0
        self.held: dict[str, int] = {}
        """Peer -> bytes that it holds."""
        self.wasted: dict[str, int] = {}
        """Peer -> bytes that it was granted and did not use, since the queue was last empty."""
        self.waiting: dict[_Peer, dict[BudgetClaim, None]] = {}
        """Peer -> its waiting claims, in order of arrival. Thousands of claims may end at the same moment, so
        the end of one looks at the first claim of each peer only."""
        self._arrived = 0

    def ask(self, claim: BudgetClaim) -> None:
        if not self.waiting and self.in_flight + claim.size <= self.limit:
            self._grant(claim)
            return
        self._arrived += 1
        claim.number = self._arrived
        self.waiting.setdefault((claim.has_broker, claim.peer), {})[claim] = None

    def give_back(self, claim: BudgetClaim) -> None:
        """Take back the bytes of `claim` and grant the next claims."""
        if claim.is_granted:
            self.in_flight -= claim.size
            self.held[claim.peer] -= claim.size
            if not self.held[claim.peer]:
                del self.held[claim.peer]
        else:
            self._leave(claim)
        while self.waiting:
            claim = self._first(min(self.waiting, key=self._rank))
            if self.in_flight + claim.size > self.limit:
                return
            self._leave(claim)
            self._grant(claim)
            claim.on_granted()
        self.wasted.clear()

    def _leave(self, claim: BudgetClaim) -> None:
        peer = claim.has_broker, claim.peer
        del self.waiting[peer][claim]
        if not self.waiting[peer]:
            del self.waiting[peer]

    def _first(self, peer: "_Peer") -> BudgetClaim:
        return next(iter(self.waiting[peer]))

    def _rank(self, peer: "_Peer") -> tuple[bool, int, int]:
        has_broker, host = peer
        held = self.held.get(host, 0) + self.wasted.get(host, 0)
        return not has_broker, held, self._first(peer).number

    def _grant(self, claim: BudgetClaim) -> None:
        claim.is_granted = True
        self.in_flight += claim.size
        self.held[claim.peer] = self.held.get(claim.peer, 0) + claim.size


_Peer = tuple[bool, str]
"""Whether a broker is registered over the connection, and the host."""
