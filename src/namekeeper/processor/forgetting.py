"""Has answers forgotten that a change made wrong: at once if they are few, else in turns of the loop.

A broker may have 60,000 topics, and to forget their answers takes longer than a look-up may wait. So they are
first distrusted, which takes no time: look-ups of the topics that changed are answered without what is kept.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, KeysView
from itertools import chain, islice
from typing import Protocol

from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.route.affected import AffectedTopics

__all__ = ["AT_ONCE", "MOST_UNFINISHED", "Forgetting"]

AT_ONCE = 1_000
"""So many topics are forgotten in the turn of the change; that takes about a millisecond."""
SLICE = 100
"""So many topics are forgotten before the time of a turn is looked at."""
MOST_UNFINISHED = 8
"""Each look-up of a kept answer is compared with so many changes at most."""


class AnswerStore(Protocol):
    """Keeps answers of topics."""

    @property
    def topics(self) -> KeysView[str]:
        """Topics with answers."""
        ...

    def forget(self, topics: Collection[str]) -> None:
        """Forget the answers of some topics, each named once; others do no harm."""
        ...


class Forgetting:
    """What is still to be forgotten, the oldest change first."""

    def __init__(self, stores: Collection[AnswerStore], cache: LookupCache) -> None:
        """Begin with nothing.

        Args:
            stores: where answers are kept.
            cache: holds what is distrusted.
        """
        self._stores = stores
        self._cache = cache
        self._unfinished: deque[tuple[Callable[[str], bool], Iterator[str]]] = deque()
        """What is distrusted, and which topics may be."""
        self._on_unfinished: Callable[[], object] = self._finish

    def when_unfinished(self, call: Callable[[], object]) -> None:
        """Have a function called when something is left to forget; by default it is all forgotten at once.

        Args:
            call: sees to it that `forget_some` is called until nothing is left.
        """
        self._on_unfinished = call

    def forget(self, affected: AffectedTopics) -> None:
        """Have no look-up answered with what is kept of topics that a change affects."""
        count = len(affected.topics)
        if all(min(count, len(store.topics)) <= AT_ONCE for store in self._stores):
            for store in self._stores:
                store.forget(affected.among(store.topics))
            return
        is_first = not self._unfinished
        if len(self._unfinished) < MOST_UNFINISHED:
            contains, candidates = affected.contains, self._candidates(affected)
            self._cache.distrust(contains)
        else:
            contains, candidates = _any_topic, self._known()
            self._cache.distrust(contains)
            self.clear()  # only now: what is trusted again may be found again
        self._unfinished.append((contains, candidates))
        if is_first:
            self._on_unfinished()

    def forget_some(self) -> bool:
        """Forget some answers of the oldest change; return whether more are left."""
        if not self._unfinished:
            return False
        contains, candidates = self._unfinished[0]
        some = dict.fromkeys(islice(candidates, SLICE))
        topics = [*filter(contains, some)]
        for store in self._stores:
            store.forget(topics)
        if not some:
            self._unfinished.popleft()
            self._cache.trust(contains)
        return bool(self._unfinished)

    def clear(self) -> None:
        """Nothing is left to forget."""
        while self._unfinished:
            contains, _ = self._unfinished.popleft()
            self._cache.trust(contains)

    def _candidates(self, affected: AffectedTopics) -> Iterator[str]:
        """All topics that are affected and known now, among others."""
        if len(affected.topics) <= sum(len(store.topics) for store in self._stores):
            return iter(affected.topics)
        return self._known()

    def _known(self) -> Iterator[str]:
        """The topics of all stores, as they are now."""
        return chain(*[list(store.topics) for store in self._stores])

    def _finish(self) -> None:
        while self.forget_some():
            pass


def _any_topic(_: str) -> bool:
    return True
