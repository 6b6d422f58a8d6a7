"""Which broker names may have a topic: an index beside the topic tables, never wrong by omission.

The index is extended before a table becomes visible and trimmed after, so a name in it only *may* have
the topic: every reader looks the row up in the name's current table (design.md 5).
"""

from collections.abc import Iterable, Iterator

__all__ = ["TopicIndex"]


class TopicIndex:
    """Topic -> broker names that may have it, in the order in which they came."""

    __slots__ = ("_names_by_topic",)

    def __init__(self) -> None:
        self._names_by_topic: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._names_by_topic)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names_by_topic)

    def names(self, topic: str) -> tuple[str, ...]:
        """Broker names that may have `topic`."""
        return self._names_by_topic.get(topic, ())

    def add(self, topics: Iterable[str], broker_name: str) -> None:
        """Say that `broker_name`, which could not so far, may have `topics`."""
        names_by_topic = self._names_by_topic
        get = names_by_topic.get
        before: tuple[str, ...] | None = None
        after: tuple[str, ...] = ()
        for topic in topics:
            names = get(topic, ())
            if names is not before:  # neighbours mostly have the same names, and share one tuple of them
                before, after = names, (*names, broker_name)
            names_by_topic[topic] = after

    def discard(self, topics: Iterable[str], broker_name: str) -> None:
        """Forget that `broker_name` may have `topics`."""
        for topic in topics:
            names = self._names_by_topic.get(topic, ())
            if names == (broker_name,):
                del self._names_by_topic[topic]
            elif broker_name in names:
                self._names_by_topic[topic] = tuple(name for name in names if name != broker_name)
