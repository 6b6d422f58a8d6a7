"""The newest changes of routes, for watchers: the affected topics, time, reason and requester of each.

The number of kept changes is bounded. A caller that asks for changes since a revision that is too old gets
None, and has to read the route again.
"""

import re
from collections import deque
from collections.abc import Collection, Generator, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, takewhile
from sys import getsizeof
from typing import NamedTuple, Self

from msgspec import Struct, field

from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.route.affected import broker_names_shown
from namekeeper.route.events import (
    BrokerNameRemoved,
    ConfigChanged,
    Event,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.tables import RouteTables

__all__ = [
    "EVERY_TOPIC",
    "TOPIC_BYTES",
    "RecentChanges",
    "Revision",
    "RouteChange",
    "TopicSets",
    "topics_shown",
]

CHANGES_LIMIT = 10_000
"""Changes that are kept; a cluster of hundreds of brokers makes as many in a bad hour."""
BYTES_LIMIT = 48 * 1024 * 1024
"""Memory of the topics that they name: about 200,000, with names of usual length. The newest change stays,
whatever its size."""
TOPIC_BYTES = 200
"""Memory of a topic beside its name: its place in a table, and its row."""

WEIGHED = 1_000
"""Topics of a change whose names are weighed: a change may have a million, and stands for itself only."""
SLICE_TOPICS = 5_000
"""Topics that are put into a set in one slice: less than a millisecond."""

SHOWN_PROPERTIES = frozenset({"orderMessageEnable", "supportActingMaster"})
"""Properties that routes depend on."""

_REVISION = re.compile(r"([0-9]{1,19})-([0-9]{1,19})")

TopicSets = tuple[Collection[str], ...] | None
"""Topics, as existing collections: a change of 100,000 topics costs nothing. None: every topic."""
EVERY_TOPIC: TopicSets = None


class Revision(NamedTuple):
    """A position in the order of changes, over restarts."""

    boot: int
    seq: int

    def __str__(self) -> str:
        return f"{self.boot}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `boot-seq`; None for other text."""
        match = _REVISION.fullmatch(text)
        return None if match is None else cls(int(match[1]), int(match[2]))


class RouteChange(Struct):
    """A change that routes show."""

    revision: Revision
    at: int
    """Wall ms."""
    cause: str
    peer: str | None
    """The address of the requester; None if no request asked for it."""
    topics: TopicSets = field(default=EVERY_TOPIC)

    @property
    def weight(self) -> int:
        """Memory of the topics that it names, in bytes; of very many topics it is an estimate."""
        return sum(len(some) * TOPIC_BYTES + _bytes_of_names(some) for some in self.topics or ())

    def find_in(self, wanted: AbstractSet[str]) -> Generator[None, None, list[str]]:
        """Find the topics of `wanted` whose route it changed, sorted; yields after each slice."""
        if self.topics is not None:
            found: tuple[Collection[str], ...] = ()
            for some in self.topics:
                found += ((yield from _set_of(some)) if isinstance(some, tuple) else some,)
            self.topics = found
        return self.shown_in(wanted)

    def shown_in(self, wanted: AbstractSet[str]) -> list[str]:
        """The topics of `wanted` whose route it changed, sorted; it takes long if both are many."""
        if self.topics is None:
            return sorted(wanted)
        return sorted({topic for some in self.topics for topic in _in_both(some, wanted)})


class RecentChanges:
    """The newest changes, in their order."""

    def __init__(
        self, begin: Revision, *, changes_limit: int = CHANGES_LIMIT, bytes_limit: int = BYTES_LIMIT
    ) -> None:
        """Start without changes.

        Args:
            begin: the present revision.
            changes_limit: most changes that are kept.
            bytes_limit: memory of the topics that they may name.
        """
        self.floor = begin
        """Every change after this revision is kept."""
        self.last = begin
        """The present revision."""
        self._changes: deque[tuple[RouteChange, int]] = deque()
        """Each with its weight, which is another one after `find_in` made sets of its topics."""
        self._weight = 0
        self._changes_limit = changes_limit
        self._bytes_limit = bytes_limit

    def add(self, change: RouteChange) -> None:
        """Add the newest change."""
        self.last = change.revision
        weight = change.weight
        self._changes.append((change, weight))
        self._weight += weight
        self._trim()

    def extend_back(self, older: Sequence[RouteChange], floor: Revision) -> None:
        """Add changes from before the present floor; `floor` is the new one."""
        before = [(change, change.weight) for change in older if change.revision <= self.floor]
        self._changes.extendleft(reversed(before))
        self._weight += sum(weight for _, weight in before)
        self.floor = floor
        self._trim()

    def since(self, after: Revision) -> list[RouteChange] | None:
        """Changes after a revision, in order; None if some of them are not kept any more."""
        if not self.floor <= after <= self.last:
            return None
        kept = (change for change, _ in reversed(self._changes))
        newer = takewhile(lambda change: change.revision > after, kept)
        return list(newer)[::-1]

    def newest(self, topics: AbstractSet[str]) -> RouteChange | None:
        """The newest change that shows in one of the topics."""
        return next((change for change, _ in reversed(self._changes) if change.shown_in(topics)), None)

    def _trim(self) -> None:
        while len(self._changes) > 1 and (
            len(self._changes) > self._changes_limit or self._weight > self._bytes_limit
        ):
            oldest, weight = self._changes.popleft()
            self._weight -= weight
            self.floor = oldest.revision


def topics_shown(tables: RouteTables, events: Iterable[Event]) -> TopicSets:
    """The topics whose routes a change affects, right after it was applied.

    Returns:
        Existing collections; empty if no route shows the change.
    """
    found: list[Collection[str]] = []
    for event in events:
        match event:
            case TopicQueuesChanged():
                found.append(event.topics)
            case BrokerNameRemoved():
                found.append(event.before)
            case TopicMappingChanged():
                found.append((event.topic,))
            case KvChanged():
                found.append((event.key,) if event.namespace == ORDER_TOPIC_CONFIG else ())
            case ConfigChanged():
                if not SHOWN_PROPERTIES.isdisjoint(event.properties):
                    return EVERY_TOPIC
            case _:
                found += map(tables.topics_of, broker_names_shown(tables, event))
    # Each once: a change of a topic that thousands of broker names have has the same tuple for each of them.
    return tuple({id(some): some for some in found if some}.values())


def _bytes_of_names(topics: Collection[str]) -> int:
    """Memory of names; of more than ten times `WEIGHED` some stand for all."""
    if len(topics) <= 10 * WEIGHED:
        return sum(map(getsizeof, topics))
    step = len(topics) // WEIGHED
    start = hash(next(iter(topics))) % step  # no peer can foresee the hash of a text
    some = [*map(getsizeof, islice(topics, start, None, step))]
    return len(topics) * sum(some) // len(some)


def _set_of(topics: tuple[str, ...]) -> Generator[None, None, AbstractSet[str]]:
    found: set[str] = set()
    for start in range(0, len(topics), SLICE_TOPICS):
        found.update(topics[start : start + SLICE_TOPICS])
        yield
    return found


def _in_both(some: Collection[str], wanted: AbstractSet[str]) -> Iterable[str]:
    if len(some) < len(wanted):
        return (topic for topic in some if topic in wanted)
    return (topic for topic in wanted if topic in some)
