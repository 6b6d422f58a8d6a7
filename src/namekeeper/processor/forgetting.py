"""Has answers forgotten that a change made wrong: at once if they are few, else in turns of the loop.

A broker may have 60,000 topics, and to forget their answers takes longer than a look-up may wait. So they are
first distrusted, which takes no time: look-ups of the topics that changed are answered without what is kept.
The native front can't be asked whether it trusts a topic. If it knows many of those that changed, it answers
nothing until it has forgotten them, and the others forget theirs after it.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView
from itertools import islice
from typing import NamedTuple, Protocol

from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.route.affected import AffectedTopics

__all__ = ["AT_ONCE", "MOST_COMPARED", "MOST_UNFINISHED", "Forgetting"]

AT_ONCE = 1_000
"""So many topics are forgotten in the turn of the change; that takes about a millisecond."""
MOST_COMPARED = 25_000
"""So many known topics are compared with a change in its turn; that takes 1 to 3 ms."""
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


class _Part(NamedTuple):
    """What one store has left to forget of a change."""

    store: AnswerStore
    candidates: Iterator[str]
    """The topics that may be affected and were not looked at yet."""
    contains: Callable[[str], bool] | None
    """Whether the change affects one of them; None if it affects all."""


class _Unfinished(NamedTuple):
    """A change of which something is left to forget."""

    contains: Callable[[str], bool]
    """Whether it affects a topic."""
    parts: deque[_Part]


class Forgetting:
    """What is still to be forgotten, the oldest change first."""

    def __init__(self, stores: Collection[AnswerStore], cache: LookupCache) -> None:
        """Begin with nothing.

        Args:
            stores: where answers are kept, besides those of the front.
            cache: holds what is distrusted, and the answers of the front.
        """
        self._stores = stores
        self._cache = cache
        self._front = cache.topic_answers
        self._unfinished: deque[_Unfinished] = deque()
        self._front_unfinished: deque[_Part] = deque()
        """What the front has to forget before it answers again; it comes before the rest."""
        self._on_unfinished: Callable[[], object] = self._finish

    def when_unfinished(self, call: Callable[[], object]) -> None:
        """Have a function called when something is left to forget; by default it is all forgotten at once.

        Args:
            call: sees to it that `forget_some` is called until nothing is left.
        """
        self._on_unfinished = call

    def forget(self, affected: AffectedTopics) -> None:
        """Have no look-up answered with what is kept of topics that a change affects."""
        stores = (*self._stores, self._front)
        few = _few_affected(affected, stores)
        if few is not None:
            for store, topics in zip(stores, few, strict=True):
                store.forget(topics)
            return
        is_first = not self._unfinished
        if len(self._unfinished) < MOST_UNFINISHED:
            self._distrust(affected.contains, (_part(affected, store) for store in self._stores))
            self._forget_of_front(affected)
        else:
            self._forget_everything()
        if is_first:
            self._on_unfinished()

    def forget_some(self) -> bool:
        """Forget some answers of the oldest change; return whether more are left."""
        if self._front_unfinished:
            if _forget_slice(self._front_unfinished):
                self._front.resume()
        elif self._unfinished and _forget_slice(self._unfinished[0].parts):
            self._cache.trust(self._unfinished.popleft().contains)
        return bool(self._unfinished)

    def clear(self) -> None:
        """Nothing is left to forget."""
        while self._unfinished:
            self._cache.trust(self._unfinished.popleft().contains)
        self._front_unfinished.clear()
        self._front.resume()

    def _distrust(self, contains: Callable[[str], bool], parts: Iterable[_Part]) -> None:
        self._cache.distrust(contains)
        self._unfinished.append(_Unfinished(contains, deque(parts)))

    def _forget_of_front(self, affected: AffectedTopics) -> None:
        """Have the front forget what is affected now if that is little, else in turns, and answer nothing."""
        few = _few_affected(affected, (self._front,))
        if few is not None:
            self._front.forget(*few)
            return
        self._front.pause()
        self._front_unfinished.append(_part(affected, self._front))

    def _forget_everything(self) -> None:
        """Distrust every topic, in place of those of the changes so far."""
        before = len(self._unfinished)
        self._distrust(_any_topic, map(_all_of, self._stores))
        self._front.pause()
        self._front_unfinished = deque([_all_of(self._front)])
        for _ in range(before):  # only now: what is trusted again may be found again
            self._cache.trust(self._unfinished.popleft().contains)

    def _finish(self) -> None:
        while self.forget_some():
            pass


def _few_affected(affected: AffectedTopics, stores: Collection[AnswerStore]) -> list[list[str]] | None:
    """The topics that are affected and that each store knows; None if they are many, or too many to look."""
    count = len(affected.topics)
    if sum(min(count, len(store.topics)) for store in stores) > MOST_COMPARED:
        return None
    found = []
    for store in stores:
        known = store.topics
        is_fewer = count <= len(known)
        both = filter(known.__contains__, affected.topics) if is_fewer else filter(affected.contains, known)
        found.append([*islice(both, AT_ONCE + 1)])
        if len(found[-1]) > AT_ONCE:
            return None
    return found


def _part(affected: AffectedTopics, store: AnswerStore) -> _Part:
    """What a store has to forget; as few candidates as there can be."""
    if len(affected.topics) <= len(store.topics):
        return _Part(store, iter(affected.topics), None)
    return _Part(store, iter(list(store.topics)), affected.contains)


def _all_of(store: AnswerStore) -> _Part:
    """All that a store has, to be forgotten."""
    return _Part(store, iter(list(store.topics)), None)


def _forget_slice(parts: deque[_Part]) -> bool:
    """Have some topics of the first part forgotten; return whether nothing is left of any."""
    store, candidates, contains = parts[0]
    some = [*islice(candidates, SLICE)]
    store.forget(some if contains is None else [*filter(contains, some)])
    if not some:
        parts.popleft()
    return not parts


def _any_topic(_: str) -> bool:
    return True
