"""Lookups by topic: an integer for each topic, which the hot path increments."""

from collections.abc import Mapping
from sys import getsizeof

from msgspec import Struct

__all__ = ["ENTRY_BYTES", "LIMIT_BYTES", "LookupCounter", "LookupCounters"]

LIMIT_BYTES = 32 * 1024 * 1024
"""Memory of all counters, in bytes: an hour of lookups of 180,000 topics. Peers can register topics and
remove them as fast as they like, and the counters stay until the hour ends."""
ENTRY_BYTES = 120
"""Memory of a counter beside the name of its topic, in bytes."""
OTHERS = ""
"""Stands for the topics beyond the limit; no topic has this name."""


class LookupCounter(Struct, gc=False):
    """Counts the lookups of one topic; every cached header that asks for the topic increments it."""

    count: int = 0


class LookupCounters:
    """Topic -> counter; touched from the event loop only. Beyond the limit, topics share one counter."""

    __slots__ = ("_by_topic", "_bytes", "_limit", "_others", "_shared")

    def __init__(self, *, by_topic: bool, limit_bytes: int = LIMIT_BYTES) -> None:
        """Start empty.

        Args:
            by_topic: False has all topics share one counter, for a server that does not take the counts.
            limit_bytes: bounds the memory for topics and counters.
        """
        self._by_topic: dict[str, LookupCounter] = {}
        self._shared = None if by_topic else LookupCounter()
        self._others = LookupCounter()
        self._limit = limit_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._by_topic)

    def of(self, topic: str) -> LookupCounter:
        """The counter of a topic, valid until the next `take`."""
        if self._shared is not None:
            return self._shared
        counter = self._by_topic.get(topic)
        if counter is None:
            size = ENTRY_BYTES + getsizeof(topic)
            if self._bytes + size > self._limit:
                return self._others
            self._bytes += size
            counter = self._by_topic[topic] = LookupCounter()
        return counter

    def take(self) -> Mapping[str, LookupCounter]:
        """Return the counts by topic, and start again from zero with new counters.

        Topics beyond the limit are counted together under an empty name.
        """
        taken, self._by_topic = self._by_topic, {}
        if self._others.count:
            taken[OTHERS] = self._others
            self._others = LookupCounter()
        self._bytes = 0
        return taken
