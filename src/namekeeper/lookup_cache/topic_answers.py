"""Selects the answers of the native fast path: for each topic the body of its answer, while it is correct.

The native fast path reads the headers of lookups itself, so one answer of a topic serves all clients. When a
change invalidates an answer that clients use, the server rebuilds it in idle time, before the next request
needs it.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, KeysView
from typing import NamedTuple

from msgspec import Struct

from namekeeper.lookup_cache.answer_store import FrontStore
from namekeeper.lookup_cache.counters import LookupCounters

__all__ = ["MOST_REFILLS", "MissingAnswer", "TopicAnswers"]

MOST_REFILLS = 8
"""Most refreshes in a row of an answer that no client requests: brokers change one after the other."""
BYTES_OF_TOPIC = 250
"""Memory of a topic besides its name and its bodies, here and in the native thread, in bytes: measured, on 64
bits."""
MIN_REFUSED = 1_000
"""Number of answers without room before the server drops all, to add the answers that clients request now."""
MIN_NUMBERS = 10_000
"""If there are this many numbers more than twice the topics, the server assigns all anew: a removed topic
keeps its number and its name."""


class MissingAnswer(NamedTuple):
    """A missing answer of the native fast path that clients may request."""

    topic: str
    standard: bool
    refills: int = 1
    """Number of refreshes in a row without a client's request, this one included."""


class _Bodies(Struct, gc=False):
    """The answers of the native fast path for one topic; None where it has no answer."""

    legacy: bytes | None = None
    """For clients before 4.9.4."""
    standard: bytes | None = None
    refills: int = 0
    """Number of refreshes in a row; 0 if a client's request added the last one."""


class TopicAnswers:
    """Topic and form of JSON -> the body of the native fast path's answer; touched from the event loop only.

    Without a store it adds nothing. Without room it adds nothing more. If room is missing often, it drops
    all, and adds the answers that clients request now.
    """

    __slots__ = (
        "_bytes",
        "_counters",
        "_forgotten",
        "_is_paused",
        "_known",
        "_limit",
        "_numbers",
        "_on_lack",
        "_on_stale",
        "_refused",
        "_store",
        "_topics",
        "_users",
        "found",
        "stale",
    )

    def __init__(self, limit_bytes: int, counters: LookupCounters) -> None:
        """Start empty, and without a store.

        Args:
            limit_bytes: bounds the memory for topics and bodies together.
            counters: gets the lookups that the native fast path answers.
        """
        self.found = 0
        """Lookups that the native fast path answered, up to the last `count`."""
        self.stale = 0
        """Invalidated topics that `take_stale` has still to take."""
        self._limit = limit_bytes
        self._counters = counters
        self._store: FrontStore | None = None
        self._on_lack: Callable[[], object] = int
        self._on_stale: Callable[[], object] = int
        self._known: dict[str, _Bodies] = {}
        self._users: dict[bytes, int] = {}
        """Body -> number of answers with it."""
        self._bytes = 0
        self._forgotten: deque[Iterator[tuple[str, _Bodies, int]]] = deque()
        """Topics that a change invalidated, each with the forms that clients requested."""
        self._numbers: dict[str, int] = {}
        self._topics: list[str] = []
        """Topics by their numbers."""
        self._refused = 0
        self._is_paused = False

    @property
    def topics(self) -> KeysView[str]:
        """Topics with answers."""
        return self._known.keys()

    @property
    def has_store(self) -> bool:
        """Whether there is a native fast path that takes answers."""
        return self._store is not None

    @property
    def takes_more(self) -> bool:
        """Whether there is room for topics that no client has requested: half is for the others."""
        return self._store is not None and 2 * self._bytes < self._limit

    def use(self, store: FrontStore | None) -> None:
        """Select the answers of this store from now on; it starts empty, and the last one is left empty."""
        self.forget_all()
        self._store = store
        if store is not None and self._is_paused:
            store.pause()
        self.note_lack()

    def when_stale(self, call: Callable[[], object]) -> None:
        """Have a function called after each change that invalidates answers."""
        self._on_stale = call

    def when_lacking(self, call: Callable[[], object]) -> None:
        """Have a function called whenever topics without an answer may exist."""
        self._on_lack = call

    def note_lack(self) -> None:
        """Report that topics may have come."""
        if self._store is not None:
            self._on_lack()

    def close(self) -> None:
        """Drop every answer and add nothing more."""
        self._limit = -1
        self.forget_all()

    def learn(self, topic: str, body: bytes, *, standard: bool, refills: int = 0) -> None:
        """Answer lookups of a topic, in one form, with SUCCESS and `body`, which must be correct now.

        Args:
            topic: the topic of the lookups.
            body: the answer's.
            standard: whether it is in standard JSON.
            refills: `refills` of the missing answer; 0 if a client requested it.
        """
        if self._store is None or not topic.isascii():  # topic names are; the native thread reads no others
            return
        known = self._known.get(topic)
        if known is not None and (known.standard if standard else known.legacy) is not None:
            return
        if self._has_old_numbers:
            self.forget_all()
            known = None
        size = (_size_of(topic) if known is None else 0) + (0 if body in self._users else len(body))
        if self._bytes + size > self._limit:
            self._refuse()
            return
        if known is None:
            known = self._known[topic] = _Bodies()
        if standard:
            known.standard = body
        else:
            known.legacy = body
        known.refills = refills
        self._bytes += size
        self._users[body] = self._users.get(body, 0) + 1
        self._store.learn(topic, standard, self._number(topic), body)

    def forget(self, topics: Collection[str]) -> None:
        """Invalidate the answers of some topics after a change on which they depend.

        `take_stale` does all that can wait: a broker may have all topics.

        Args:
            topics: each topic once.
        """
        names = [topic for topic in topics if topic in self._known]
        if self._store is None or not names:
            return
        asked = self._store.forget(names)
        self.stale += len(names)
        self._forgotten.append(zip(names, [self._known.pop(topic) for topic in names], asked, strict=True))
        self._on_stale()

    def pause(self) -> None:
        """Suspend the native fast path, because not all incorrect answers are invalidated."""
        self._is_paused = True
        if self._store is not None:
            self._store.pause()

    def resume(self) -> None:
        """Resume the native fast path: its answers are correct."""
        self._is_paused = False
        if self._store is not None:
            self._store.resume()

    def forget_all(self) -> None:
        """Drop every answer; no topic waits for a refresh afterwards."""
        if self._store is None:
            return
        self._store.forget_all()
        self._count(self._store)
        self._known = {}
        self._users = {}
        self._forgotten.clear()
        self.stale = 0
        self._numbers = {}
        self._topics = []
        self._bytes = self._refused = 0
        self.note_lack()

    def take_stale(self) -> Iterator[MissingAnswer]:
        """Take the invalidated answers to refresh, oldest invalidation first."""
        while self._forgotten:
            found = next(self._forgotten[0], None)
            if found is None:
                self._forgotten.popleft()
                continue
            topic, bodies, asked = found
            self.stale -= 1
            self._bytes -= _size_of(topic)
            self._drop_body(bodies.legacy)
            self._drop_body(bodies.standard)
            refills = 1 if asked else bodies.refills + 1
            if refills > MOST_REFILLS:
                continue
            for standard, body in ((False, bodies.legacy), (True, bodies.standard)):
                if body is not None:
                    yield MissingAnswer(topic, standard, refills)

    def count(self) -> None:
        """Add the answers of the native fast path so far to the counters of topics."""
        if self._store is None:
            return
        self._count(self._store)
        if self._has_old_numbers:
            self.forget_all()

    @property
    def _has_old_numbers(self) -> bool:
        return len(self._topics) > MIN_NUMBERS + 2 * len(self._known)

    def _count(self, store: FrontStore) -> None:
        for number, count in store.take_counts():
            self._counters.of(self._topics[number]).count += count
            self.found += count

    def _number(self, topic: str) -> int:
        number = self._numbers.get(topic)
        if number is None:
            number = self._numbers[topic] = len(self._topics)
            self._topics.append(topic)
        return number

    def _refuse(self) -> None:
        self._refused += 1
        if self._refused > MIN_REFUSED + len(self._known):
            self.forget_all()

    def _drop_body(self, body: bytes | None) -> None:
        if body is None:
            return
        self._users[body] -= 1
        if not self._users[body]:
            del self._users[body]
            self._bytes -= len(body)


def _size_of(topic: str) -> int:
    return BYTES_OF_TOPIC + len(topic)
