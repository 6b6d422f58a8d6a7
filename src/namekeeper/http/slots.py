"""Slots for connections of one kind: a limit for all hosts, and one for each host."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Slots"]

Holder = TypeVar("Holder", bound=Hashable)


class Slots(Generic[Holder]):
    """Counts the holders of slots, by their hosts.

    Args:
        limit: most holders.
        of_host: most holders of one host; None: a host may have all slots.
    """

    def __init__(self, limit: int, of_host: int | None = None) -> None:
        self.limit = limit
        self._of_host = limit if of_host is None else of_host
        self._holders: dict[str, dict[Holder, None]] = {}
        """Host -> its holders, oldest first."""
        self._count = 0

    def __len__(self) -> int:
        """Number of holders."""
        return self._count

    def has_room(self, host: str) -> bool:
        """Whether a host may have one more slot."""
        return self._count < self.limit and len(self._holders.get(host, ())) < self._of_host

    def add(self, host: str, holder: Holder) -> None:
        """Give a slot to a holder, beyond the limits if need be."""
        self._holders.setdefault(host, {})[holder] = None
        self._count += 1

    def remove(self, host: str, holder: Holder) -> None:
        """Take the slot of a holder back."""
        of_host = self._holders[host]
        del of_host[holder]
        self._count -= 1
        if not of_host:
            del self._holders[host]

    @property
    def hosts(self) -> int:
        """Number of hosts with a holder."""
        return len(self._holders)

    def take_next(self, rank: Callable[[str], int]) -> Holder:
        """Take the slot of the oldest holder of the host with the lowest rank; there must be a holder.

        Of hosts with equal ranks it is the one that has had a holder for longest.
        """
        host = min(self._holders, key=rank)
        holder = next(iter(self._holders[host]))
        self.remove(host, holder)
        return holder

    def held_unfairly(self, host: str) -> Holder | None:
        """Find the oldest holder of the host with the most; None if no other host has a right to it."""
        largest = self._largest()
        return next(iter(largest)) if len(largest) > len(self._holders.get(host, ())) + 1 else None

    def first_to_go(self, is_spared: Callable[[Holder], bool]) -> Holder | None:
        """Find the oldest holder that is not spared, of the host with the most holders.

        If all holders of this host are spared, a host with the next most follows, down to hosts that have an
        equal part of the limit: one peer with hundreds of hosts must not close a host's second connection.
        Where descriptors are few, the holders stay below the limit. Then it is an equal part of the holders.
        """
        hosts = sorted(self._holders.values(), key=len, reverse=True)
        part = min(self.limit, self._count) / max(1, len(hosts))
        for index, holders in enumerate(hosts):
            if index and len(holders) < part:
                return None
            found = next((holder for holder in holders if not is_spared(holder)), None)
            if found is not None:
                return found
        return None

    def _largest(self) -> dict[Holder, None]:
        return max(self._holders.values(), key=len, default={})
