"""Look-ups by topic: an integer for each topic, which the hot path adds to."""

from collections.abc import Mapping

from msgspec import Struct

__all__ = ["LookupCounter", "LookupCounters"]


class LookupCounter(Struct, gc=False):
    """Counts the look-ups of one topic; every cached header that asks for the topic adds to it."""

    count: int = 0


class LookupCounters:
    """Topic -> counter; touched from the event loop only."""

    __slots__ = ("_by_topic", "_shared", "_taken")

    def __init__(self, *, by_topic: bool) -> None:
        """Begin with nothing.

        Args:
            by_topic: False has all topics share one counter, for a server that only wants the total.
        """
        self._by_topic: dict[str, LookupCounter] = {}
        self._shared = None if by_topic else LookupCounter()
        self._taken = 0

    def __len__(self) -> int:
        return len(self._by_topic)

    @property
    def total(self) -> int:
        """Look-ups counted since the start; takes time in proportion to the number of topics."""
        if self._shared is not None:
            return self._shared.count
        return self._taken + sum(counter.count for counter in self._by_topic.values())

    def of(self, topic: str) -> LookupCounter:
        """The counter of a topic, valid until the next `take`."""
        if self._shared is not None:
            return self._shared
        counter = self._by_topic.get(topic)
        if counter is None:
            counter = self._by_topic[topic] = LookupCounter()
        return counter

    def take(self) -> Mapping[str, LookupCounter]:
        """Return what was counted by topic, and begin again from zero with new counters."""
        self._taken = self.total
        taken, self._by_topic = self._by_topic, {}
        return taken
