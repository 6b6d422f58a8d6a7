"""Bytes of large frames in flight, bounded over all connections: first come, first served."""

from collections.abc import Callable

__all__ = ["BodyBudget", "BudgetClaim"]


class BudgetClaim:
    """A claim on the budget, for one frame: waiting, then granted, then released."""

    __slots__ = ("_budget", "_is_released", "is_granted", "on_granted", "size")

    def __init__(self, budget: "BodyBudget", size: int, on_granted: Callable[[], None]) -> None:
        self._budget = budget
        self._is_released = False
        self.is_granted = False
        self.on_granted = on_granted
        self.size = size

    def release(self) -> None:
        """Give the bytes back, or leave the queue; may be called twice."""
        if not self._is_released:
            self._is_released = True
            self._budget.give_back(self)


class BodyBudget:
    """The one bound for all large frames that are arriving or not answered yet.

    A frame is admitted by the size that it announces, before its bytes are read.
    One that is larger than the whole budget is admitted alone, so a small budget slows down and never
    locks up.
    """

    __slots__ = ("_queue", "in_flight", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_flight = 0
        self._queue: dict[BudgetClaim, None] = {}
        """Claims that wait, in order of arrival; a dictionary, so that any of them can be removed."""

    @property
    def waiting(self) -> int:
        """Claims that wait to be granted."""
        return len(self._queue)

    def ask(self, size: int, on_granted: Callable[[], None]) -> BudgetClaim:
        """Claim `size` bytes; `on_granted` is called later unless the claim is granted at once.

        `on_granted` must not ask or release before it returns.
        """
        claim = BudgetClaim(self, min(size, self.limit), on_granted)
        if not self._queue and self.in_flight + claim.size <= self.limit:
            self._grant(claim)
        else:
            self._queue[claim] = None
        return claim

    def give_back(self, claim: BudgetClaim) -> None:
        """Take back what `claim` held and grant the next ones; called by `BudgetClaim.release` only."""
        if claim.is_granted:
            self.in_flight -= claim.size
        else:
            del self._queue[claim]
        while self._queue:
            first = next(iter(self._queue))
            if self.in_flight + first.size > self.limit:
                return
            del self._queue[first]
            self._grant(first)
            first.on_granted()

    def _grant(self, claim: BudgetClaim) -> None:
        claim.is_granted = True
        self.in_flight += claim.size
