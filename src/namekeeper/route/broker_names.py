"""The broker names of a cluster: sets that share one history, so that a change costs one entry of it.

Each event of a cluster has the complete set of its names. With separate sets, 5,000 registrations under as
many names would hold 12 million entries until the journal has written them.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

__all__ = ["NO_NAMES", "BrokerNames", "in_order"]

SPARE_ENTRIES = 64
"""A new history starts when the entries exceed twice the number of remaining names by this number."""


class _NameHistory:
    """The names at its start and every later change; the sets that share it are positions in it."""

    __slots__ = ("begin", "changes", "newest", "ordered", "ordered_at")

    def __init__(self, begin: Iterable[str]) -> None:
        self.begin = tuple(begin)
        self.changes: list[tuple[str, bool]] = []
        """(name, True if it was added, False if it was removed)."""
        self.newest = dict.fromkeys(self.begin)
        """The names after the last change."""
        self.ordered: list[str] = []
        """The names at position `ordered_at`, sorted; only the thread that calls `in_order` uses it."""
        self.ordered_at = -1


class BrokerNames(AbstractSet[str]):
    """An immutable set of broker names; a set with one change more than the newest set is cheap to make."""

    __slots__ = ("_history", "_position", "_size")

    def __init__(self, names: Iterable[str] = (), *, history: _NameHistory | None = None) -> None:
        """Make a set of these names, or the newest set of a history."""
        self._history = history or _NameHistory(names)
        self._position = len(self._history.changes)
        self._size = len(self._history.newest)

    @classmethod
    def of(cls, names: AbstractSet[str]) -> "BrokerNames":
        """The same names as a set that is cheap to change."""
        return names if isinstance(names, cls) else cls(names)

    def with_name(self, name: str) -> "BrokerNames":
        """This set and one more name."""
        return self if name in self else self._changed(name, comes=True)

    def without_name(self, name: str) -> "BrokerNames":
        """This set without a name."""
        return self._changed(name, comes=False) if name in self else self

    def in_order(self) -> list[str]:
        """The names, sorted; sets of one history need no new sorting. Only one thread may call it."""
        history = self._history
        if not 0 <= history.ordered_at <= self._position:
            history.ordered, history.ordered_at = sorted(history.begin), 0
        for name, comes in history.changes[history.ordered_at : self._position]:
            if comes:
                insort(history.ordered, name)
            else:
                del history.ordered[bisect_left(history.ordered, name)]
        history.ordered_at = self._position
        return list(history.ordered)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._names()))

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"BrokerNames({sorted(self)})"

    @classmethod
    def _from_iterable(cls, it: Iterable[str]) -> AbstractSet[str]:  # type: ignore[override]
        return frozenset(it)

    @property
    def _is_newest(self) -> bool:
        return self._position == len(self._history.changes)

    def _names(self) -> dict[str, None]:
        if self._is_newest:
            return self._history.newest
        names = dict.fromkeys(self._history.begin)
        for name, comes in self._history.changes[: self._position]:
            _change(names, name, comes=comes)
        return names

    def _changed(self, name: str, *, comes: bool) -> "BrokerNames":
        history = self._history
        if not self._is_newest or self._position > 2 * self._size + SPARE_ENTRIES:
            history = _NameHistory(self._names())
        history.changes.append((name, comes))
        _change(history.newest, name, comes=comes)
        return BrokerNames(history=history)


NO_NAMES = BrokerNames()


def in_order(names: AbstractSet[str]) -> list[str]:
    """The names, sorted; see `BrokerNames.in_order`."""
    return names.in_order() if isinstance(names, BrokerNames) else sorted(names)


def _change(names: dict[str, None], name: str, *, comes: bool) -> None:
    if comes:
        names[name] = None
    else:
        del names[name]
