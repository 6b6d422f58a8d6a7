"""How many broker names each slice of some work looks up: a measure of its time that no busy machine changes."""

from collections.abc import Callable, Generator
from typing import Any

import pytest

from namekeeper.route.topic_index import TopicIndex

__all__ = ["names_in_each_slice"]


def names_in_each_slice(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Generator[None, None, Any]]
) -> list[int]:
    """Run the slices that `make` returns; return the number of broker names that the index of topics gave in each of them."""
    names, looked = TopicIndex.names, [0]

    def counted(index: TopicIndex, topic: str) -> tuple[str, ...]:
        found = names(index, topic)
        looked[-1] += len(found)
        return found

    monkeypatch.setattr(TopicIndex, "names", counted)
    looked.extend(0 for _ in make())
    return looked
