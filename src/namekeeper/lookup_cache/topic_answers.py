"""Decides what the native front answers: for each topic the body of its answer, while it is right.

The front reads the headers of look-ups itself, so it needs the answer of a topic only once, whoever asks.
What was asked for and is forgotten, because it changed, is stale: it is made again when there is time, before
it is asked for.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, KeysView
from typing import NamedTuple

from msgspec import Struct

from namekeeper.lookup_cache.counters import LookupCounters
from namekeeper.lookup_cache.front_store import FrontStore

__all__ = ["MOST_REFILLS", "MissingAnswer", "TopicAnswers"]

MOST_REFILLS = 8
"""So many times in a row an answer is made again and not asked for: brokers change one after the other."""
BYTES_OF_TOPIC = 250
"""What a topic takes besides its name and its bodies, here and in the front: measured, on 64 bits."""
MIN_REFUSED = 1_000
"""Number of answers without room before all are forgotten, to learn what is asked for now."""
MIN_NUMBERS = 10_000
"""If there are this many numbers more than twice the topics, all are given anew: a topic that has gone keeps
its number and its name."""


class MissingAnswer(NamedTuple):
    """An answer that the front may be asked for and does not know."""

    topic: str
    standard: bool
    refills: int = 1
    """How many times in a row it was made and not asked for, this time included."""


class _Bodies(Struct, gc=False):
    """What the front answers for one topic; None where it does not answer."""

    legacy: bytes | None = None
    """For clients before 4.9.4."""
    standard: bytes | None = None
    refills: int = 0
    """How many times in a row they were made again; 0 if the last one was learned as it was asked for."""


class TopicAnswers:
    """Topic and form of JSON -> the body that the front answers with; touched from the event loop only.

    Without a store it learns nothing. When there is no room left, nothing more is learned; if that happens
    often, all is forgotten, and what is asked for now is learned.
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
        """Begin with nothing, and without a store.

        Args:
            limit_bytes: bounds the memory for topics and bodies together.
            counters: gets the look-ups that the front answers.
        """
        self.found = 0
        """Look-ups that the front answered, as far as `count` has heard of them."""
        self.stale = 0
        """Topics that `take_stale` has still to take."""
        self._limit = limit_bytes
        self._counters = counters
        self._store: FrontStore | None = None
        self._on_lack: Callable[[], object] = int
        self._on_stale: Callable[[], object] = int
        self._known: dict[str, _Bodies] = {}
        self._users: dict[bytes, int] = {}
        """Body -> number of answers that have it."""
        self._bytes = 0
        self._forgotten: deque[Iterator[tuple[str, _Bodies, int]]] = deque()
        """Topics that were forgotten because they changed, each with the forms that were asked for."""
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
        """Whether there is a front that learns."""
        return self._store is not None

    @property
    def takes_more(self) -> bool:
        """Whether there is room for topics that nobody has asked for: half of it is for the others."""
        return self._store is not None and 2 * self._bytes < self._limit

    def use(self, store: FrontStore | None) -> None:
        """Decide from now on what this store answers; it begins empty, and the last one ends so."""
        self.forget_all()
        self._store = store
        if store is not None and self._is_paused:
            store.pause()
        self.note_lack()

    def when_stale(self, call: Callable[[], object]) -> None:
        """Have a function called each time that answers were forgotten because they changed."""
        self._on_stale = call

    def when_lacking(self, call: Callable[[], object]) -> None:
        """Have a function called each time that topics may be there which are not known."""
        self._on_lack = call

    def note_lack(self) -> None:
        """Topics may have come."""
        if self._store is not None:
            self._on_lack()

    def close(self) -> None:
        """Forget everything and learn nothing more."""
        self._limit = -1
        self.forget_all()

    def learn(self, topic: str, body: bytes, *, standard: bool, refills: int = 0) -> None:
        """Have look-ups of a topic, in one form, answered with SUCCESS and `body`, which is right now.

        Args:
            topic: what is looked up.
            body: the answer's.
            standard: whether it is in standard JSON.
            refills: that of the missing answer; 0 if somebody has asked for it.
        """
        if self._store is None or not topic.isascii():  # names of topics are; the front reads no others
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
        """Forget the answers of some topics, because something changed that they depend on.

        All that can wait is left to `take_stale`: a broker may have all topics.

        Args:
            topics: each of them once.
        """
        names = [topic for topic in topics if topic in self._known]
        if self._store is None or not names:
            return
        asked = self._store.forget(names)
        self.stale += len(names)
        self._forgotten.append(zip(names, [self._known.pop(topic) for topic in names], asked, strict=True))
        self._on_stale()

    def pause(self) -> None:
        """Have the front answer nothing, because not all that is wrong is forgotten."""
        self._is_paused = True
        if self._store is not None:
            self._store.pause()

    def resume(self) -> None:
        """Have the front answer what it knows: it is right."""
        self._is_paused = False
        if self._store is not None:
            self._store.resume()

    def forget_all(self) -> None:
        """Forget every answer; nothing is stale afterwards."""
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
        """Take what is stale and to be learned again, what was forgotten first before the rest."""
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
        """Have the counters of topics know what the front has answered so far."""
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
