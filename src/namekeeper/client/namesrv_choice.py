"""Which name server is asked: one, for as long as it answers (protocol.md 7.2)."""

from collections.abc import Iterable
from random import Random

__all__ = ["NamesrvChoice"]


class NamesrvChoice:
    """The list of name servers, and the chosen one; chance comes in as `rng`."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._counter = rng.randrange(999)
        self.addrs: tuple[str, ...] = ()
        """In an order of this client's own, so that clients spread over the name servers."""
        self.chosen: str | None = None

    def update(self, addrs: Iterable[str]) -> tuple[str, ...]:
        """Take a new list; return the addresses that are no longer in it.

        The same set in another order changes nothing, and an empty list is ignored, as in Java.
        """
        new = list(dict.fromkeys(addrs))
        if not new or set(new) == set(self.addrs):
            return ()
        removed = tuple(addr for addr in self.addrs if addr not in new)
        self._rng.shuffle(new)
        self.addrs = tuple(new)
        if self.chosen not in self.addrs:
            self.chosen = None
        return removed

    def candidates(self) -> tuple[str, ...]:
        """The chosen one, and after it the others in their turn; chooses if none is chosen."""
        if not self.addrs:
            return ()
        if self.chosen is None:
            self._counter += 1
            self.chosen = self.addrs[self._counter % len(self.addrs)]
        first = self.addrs.index(self.chosen)
        return self.addrs[first:] + self.addrs[:first]

    def answered(self, addr: str) -> None:
        """Stay with a name server."""
        if addr in self.addrs:
            self.chosen = addr

    def failed(self, addr: str) -> None:
        """Move on from a name server; nothing happens if somebody did so before."""
        if addr == self.chosen:
            self._counter = self.addrs.index(addr) + 1
            self.chosen = self.addrs[self._counter % len(self.addrs)]
