"""Bytes of large frames in flight, bounded over all connections: first come, first served."""

from collections.abc import Callable

__all__ = ["BodyBudget", "Lease"]


class Lease:
    """A claim on the budget, for one frame: waiting, then granted, then released."""

    __slots__ = ("_budget", "_is_released", "is_granted", "on_granted", "size")

    def __init__(self, budget: "BodyBudget", size: int, on_granted: Callable[[], None]) -> None:
        self._budget = budget
        self._is_released = False
        self.is_granted = False
        self.on_granted = on_granted
        self.size = size

    def release(self) -> None:
        """Give the bytes back, or the place in the queue; may be called twice."""
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
        self._queue: dict[
            Lease, None
        ] = {}  # in order of arrival; a waiter that goes away leaves nothing behind

    @property
    def waiting(self) -> int:
        """Leases that wait to be granted."""
        return len(self._queue)

    def ask(self, size: int, on_granted: Callable[[], None]) -> Lease:
        """Claim `size` bytes; `on_granted` is called later unless the lease is granted at once.

        `on_granted` must not ask or release before it returns.
        """
        lease = Lease(self, min(size, self.limit), on_granted)
        if not self._queue and self.in_flight + lease.size <= self.limit:
            self._grant(lease)
        else:
            self._queue[lease] = None
        return lease

    def give_back(self, lease: Lease) -> None:
        """Take back what `lease` held and grant whoever is next; `Lease.release` is the way to call it."""
        if lease.is_granted:
            self.in_flight -= lease.size
        else:
            del self._queue[lease]
        while self._queue:
            first = next(iter(self._queue))
            if self.in_flight + first.size > self.limit:
                return
            del self._queue[first]
            self._grant(first)
            first.on_granted()

    def _grant(self, lease: Lease) -> None:
        lease.is_granted = True
        self.in_flight += lease.size
