"""Invalidates the answers that a change made incorrect: at once if they are few, else incrementally.

A broker may have 60,000 topics, and dropping their answers takes longer than a lookup may wait. So the server
first marks the changed topics invalid, in constant time: lookups of them do without cached answers.

The native fast path has no such marks. If it has answers for many of the changed topics, it suspends its
answers until they are gone. The other stores drop theirs after it.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from namekeeper.lookup_cache.answer_store import AnswerStore
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.route.affected import AffectedTopics

__all__ = ["AT_ONCE", "MOST_COMPARED", "MOST_UNFINISHED", "Forgetting"]

AT_ONCE = 1_000
"""Topics invalidated in the iteration of the change; that takes about a millisecond."""
MOST_COMPARED = 25_000
"""Cached topics compared with a change in its iteration; that takes 1 to 3 ms."""
SLICE = 1_000
"""Topics invalidated before the server checks the time of an iteration. Registrations share that time: with
smaller slices, a storm of brokers gets ahead of them, and the server drops every answer."""
MOST_UNFINISHED = 8
"""Most unfinished changes: each lookup of a cached answer is compared with each of them."""


class _Part(NamedTuple):
    """The answers that one store has still to drop for a change."""

    store: AnswerStore
    candidates: Iterator[str]
    """Topics that may be affected and that were not examined yet."""
    contains: Callable[[str], bool] | None
    """Whether the change affects a candidate; None if it affects all."""


class _Unfinished(NamedTuple):
    """A change with answers that are still to be dropped."""

    contains: Callable[[str], bool]
    """Whether the change affects a topic."""
    parts: deque[_Part]


class Forgetting:
    """The answers that are still to be dropped, oldest change first."""

    def __init__(self, stores: Collection[AnswerStore], cache: LookupCache) -> None:
        """Start empty.

        Args:
            stores: hold answers, besides those of the native fast path; `cache` is one of them.
            cache: holds the marks of invalid topics, and the answers of the native fast path.
        """
        self._stores = stores
        self._cache = cache
        self._front = cache.topic_answers
        self._unfinished: deque[_Unfinished] = deque()
        self._front_unfinished: deque[_Part] = deque()
        """Answers that the native fast path has to drop before it resumes; they go before the rest."""
        self._on_unfinished: Callable[[], object] = self._finish

    def when_unfinished(self, call: Callable[[], object]) -> None:
        """Have a function called when answers remain to be dropped; by default they all go at once.

        Args:
            call: ensures that `forget_some` runs until no answers remain.
        """
        self._on_unfinished = call

    def forget(self, affected: AffectedTopics) -> None:
        """Answer no lookup from the cached answers of topics that a change affects."""
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
        """Drop some answers of the oldest change; return whether more remain."""
        if self._front_unfinished:
            if _forget_slice(self._front_unfinished):
                self._front.resume()
        elif self._unfinished and _forget_slice(self._unfinished[0].parts):
            self._cache.trust(self._unfinished.popleft().contains)
        return bool(self._unfinished)

    def forget_all(self) -> None:
        """Drop every answer of every store, and with them all marks and pending work."""
        for store in self._stores:
            store.forget_all()
        while self._unfinished:
            self._cache.trust(self._unfinished.popleft().contains)
        self._front_unfinished.clear()
        self._front.resume()

    def _distrust(self, contains: Callable[[str], bool], parts: Iterable[_Part]) -> None:
        self._cache.distrust(contains)
        self._unfinished.append(_Unfinished(contains, deque(parts)))

    def _forget_of_front(self, affected: AffectedTopics) -> None:
        """Drop the affected answers of the native fast path: a few now, many while it is suspended."""
        few = _few_affected(affected, (self._front,))
        if few is not None:
            self._front.forget(*few)
            return
        self._front.pause()
        self._front_unfinished.append(_part(affected, self._front))

    def _forget_everything(self) -> None:
        """Mark every topic invalid, in place of those of the changes so far."""
        before = len(self._unfinished)
        self._distrust(_any_topic, map(_all_of, self._stores))
        self._front.pause()
        self._front_unfinished = deque([_all_of(self._front)])
        for _ in range(before):  # only now: lookups may find answers of topics whose mark is gone
            self._cache.trust(self._unfinished.popleft().contains)

    def _finish(self) -> None:
        while self.forget_some():
            pass


def _few_affected(affected: AffectedTopics, stores: Collection[AnswerStore]) -> list[list[str]] | None:
    """The affected topics in each store; None if they are many, or too many to compare."""
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
    """The answers that a store has to drop, with as few candidates as possible."""
    if len(affected.topics) <= len(store.topics):
        return _Part(store, iter(affected.topics), None)
    return _Part(store, iter(list(store.topics)), affected.contains)


def _all_of(store: AnswerStore) -> _Part:
    """All answers of a store, to be dropped."""
    return _Part(store, iter(list(store.topics)), None)


def _forget_slice(parts: deque[_Part]) -> bool:
    """Drop the answers of some topics of the first part; return whether no part remains."""
    store, candidates, contains = parts[0]
    some = [*islice(candidates, SLICE)]
    store.forget(some if contains is None else [*filter(contains, some)])
    if not some:
        parts.popleft()
    return not parts


def _any_topic(_: str) -> bool:
    return True
