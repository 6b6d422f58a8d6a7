"""Missing brokers and topics: brokers that went without unregistering, and the topics that went with them.

A broker is missing from the end of its registration until one of these happens:

* it registers again, or a broker that was not live before takes its broker name and id;
* a client unregisters it (104), even though it is gone;
* it has been missing for longer than `missingWithinSeconds`.

A topic is missing if no broker name has it, a missing broker's name had it, and no client deleted it.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial

from msgspec import Struct

from namekeeper.model.broker import BrokerKey
from namekeeper.route.events import (
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    Change,
    Event,
    TopicQueuesChanged,
)
from namekeeper.route.removal import UnregisterBroker
from namekeeper.route.tables import RouteTables
from namekeeper.route.topics import DeleteTopic

__all__ = ["IN_ORDER", "MAX_BROKERS", "MAX_TOPICS", "Missing", "MissingBroker", "MissingRows"]

MAX_BROKERS = 10_000
"""Most missing brokers kept; the largest fleets have some hundreds. The server forgets the oldest first."""
MAX_TOPICS = 250_000
"""Most topics of missing brokers kept, about 100 bytes each. The topics of the oldest broker name go first;
the newest name keeps its topics."""
SLICE_TOPICS = 1_000
"""Topics of missing brokers in one slice, and broker names that may have one: about two milliseconds."""

IN_ORDER: AbstractSet[str] = frozenset({Cause.UNREGISTER, Cause.REPLACED, Cause.STALE})
"""Ends of a registration that leave no broker missing: the broker unregistered, or another replaced it."""


class MissingBroker(Struct, frozen=True):
    """A broker that went without unregistering."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: int
    gen: int
    since_ms: int
    """Wall ms of the end of its registration."""

    @property
    def key(self) -> BrokerKey:
        """The key of its registration."""
        return (self.cluster_name, self.broker_addr)


class MissingRows(Struct, frozen=True):
    """Missing brokers and their topics as plain values, for a file."""

    brokers: list[MissingBroker]
    topics: dict[str, list[str]]
    """Broker name -> its topics."""


class _LostTopics(Struct):
    """The topics of a broker name that went with its last member."""

    topics: Mapping[str, object]
    deleted: set[str]
    """Topics that were deleted since."""


class Missing:
    """Follows the changes of the tables, and remembers the brokers that are missing."""

    def __init__(self) -> None:
        self.revision = 0
        """Number of changes of the missing brokers and their topics."""
        self.topics = 0
        """Number of missing topics, at the last count."""
        self._brokers: dict[BrokerKey, MissingBroker] = {}
        """Oldest first."""
        self._by_name: dict[str, dict[BrokerKey, MissingBroker]] = {}
        self._lost: dict[str, _LostTopics] = {}
        """Broker name -> its topics, oldest first."""
        self._lost_topics = 0
        """Topics in `_lost`, each counted for every broker name."""
        self._live: set[BrokerKey] = set()

    @property
    def brokers(self) -> list[MissingBroker]:
        """The missing brokers, oldest first."""
        return list(self._brokers.values())

    @property
    def since_ms(self) -> int | None:
        """The time since which the longest-missing broker is missing; None if no broker is missing."""
        return min((each.since_ms for each in self._brokers.values()), default=None)

    def take(self, change: Change, now_ms: int) -> None:
        """Follow a change that was made at `now_ms` (wall)."""
        for event in change.events:
            if isinstance(event, BrokerLiveChanged):
                self.came((event.cluster_name, event.broker_addr), event.broker_name, event.broker_id)
            elif isinstance(event, BrokerLiveGone):
                broker = MissingBroker(
                    event.cluster_name,
                    event.broker_addr,
                    event.broker_name,
                    event.broker_id,
                    event.gen,
                    now_ms,
                )
                self.went(broker, event.reason)
            elif isinstance(event, BrokerNameRemoved):
                self.lose(event.broker_name, event.before)
            elif isinstance(event, TopicQueuesChanged) and change.cause is Cause.DELETE_TOPIC:
                self.delete(event.broker_name, event.topics)

    def came(self, key: BrokerKey, broker_name: str, broker_id: int) -> None:
        """Note that a broker is registered."""
        if key not in self._live:
            self._live.add(key)
            for broker in list(self._by_name.get(broker_name, {}).values()):
                if (broker.cluster_name, broker.broker_id) == (key[0], broker_id):
                    self._drop(broker.key)
        self._drop(key)

    def went(self, broker: MissingBroker, reason: str) -> None:
        """Note the end of a registration; the broker is missing unless `IN_ORDER` has the reason."""
        self._live.discard(broker.key)
        if reason in IN_ORDER:
            self._drop(broker.key)
            return
        self._brokers.pop(broker.key, None)
        self._add(broker)
        self._limit()

    def lose(self, broker_name: str, topics: Mapping[str, object]) -> None:
        """Keep the topics of a broker name that went, if a missing member may bring them back."""
        if broker_name in self._by_name and topics:
            self._drop_topics(broker_name)
            self._lost[broker_name] = _LostTopics(topics, set())
            self._lost_topics += len(topics)
            self._limit()
            self.revision += 1

    def delete(self, broker_name: str, topics: Iterable[str]) -> None:
        """Note that topics of a broker name were deleted."""
        lost = self._lost.get(broker_name)
        if lost is not None:
            lost.deleted.update(topic for topic in topics if topic in lost.topics)
            self.revision += 1

    def retired(self, change: object) -> tuple[Event, ...]:
        """Return events that repeat, now in order, that a missing broker or topic is gone.

        Args:
            change: the change of the tables that a request asked for.
        """
        if isinstance(change, UnregisterBroker):
            broker = self._brokers.get((change.cluster_name, change.broker_addr))
            return () if broker is None else (_unregistered(broker),)
        if isinstance(change, DeleteTopic):
            return tuple(self._deleted(change.topic, change.cluster_name))
        return ()

    def forget(self, before_ms: int) -> None:
        """Forget brokers that went before a time (wall ms)."""
        for broker in self.brokers:
            if broker.since_ms < before_ms:
                self._drop(broker.key)

    def count_topics(self, tables: RouteTables) -> Generator[None, None, None]:
        """Count the missing topics incrementally."""
        is_missing: dict[str, bool] = {}  # thousands of broker names may have lost the same topic
        looked = 0
        for lost in list(self._lost.values()):
            for topic in lost.topics:
                looked += 1
                if topic not in lost.deleted and topic not in is_missing:
                    looked += tables.topic_index.count(topic)
                    is_missing[topic] = not tables.has_topic(topic)
                if looked >= SLICE_TOPICS:
                    looked = 0
                    yield
        self.topics = sum(is_missing.values())

    def rows(self) -> Callable[[], MissingRows]:
        """Return a function for another thread: it makes plain values of the present missing rows."""
        lost = {name: (each.topics, frozenset(each.deleted)) for name, each in self._lost.items()}
        return partial(_rows, self.brokers, lost)

    def restore(self, rows: MissingRows) -> None:
        """Start with the missing brokers of an earlier boot."""
        for broker in rows.brokers:
            self._add(broker)
        for name, topics in rows.topics.items():
            self.lose(name, dict.fromkeys(topics))
        self._limit()

    def _add(self, broker: MissingBroker) -> None:
        self._brokers[broker.key] = broker
        self._by_name.setdefault(broker.broker_name, {})[broker.key] = broker
        self.revision += 1

    def _drop(self, key: BrokerKey) -> None:
        broker = self._brokers.pop(key, None)
        if broker is None:
            return
        members = self._by_name[broker.broker_name]
        del members[key]
        if not members:
            del self._by_name[broker.broker_name]
            self._drop_topics(broker.broker_name)
        self.revision += 1

    def _drop_topics(self, broker_name: str) -> None:
        lost = self._lost.pop(broker_name, None)
        if lost is not None:
            self._lost_topics -= len(lost.topics)

    def _deleted(self, topic: str, cluster_name: str | None) -> Iterator[Event]:
        for name, lost in self._lost.items():
            clusters = {cluster for cluster, _ in self._by_name[name]}
            is_meant = not cluster_name or cluster_name in clusters
            if is_meant and topic in lost.topics and topic not in lost.deleted:
                yield TopicQueuesChanged(name, {}, {}, (topic,))

    def _limit(self) -> None:
        while len(self._brokers) > MAX_BROKERS:
            self._drop(next(iter(self._brokers)))
        while len(self._lost) > 1 and self._lost_topics > MAX_TOPICS:
            self._drop_topics(next(iter(self._lost)))


def _rows(
    brokers: list[MissingBroker], lost: Mapping[str, tuple[Mapping[str, object], AbstractSet[str]]]
) -> MissingRows:
    topics = {
        name: [topic for topic in table if topic not in deleted] for name, (table, deleted) in lost.items()
    }
    return MissingRows(brokers, topics)


def _unregistered(broker: MissingBroker) -> BrokerLiveGone:
    return BrokerLiveGone(
        cluster_name=broker.cluster_name,
        broker_addr=broker.broker_addr,
        broker_name=broker.broker_name,
        broker_id=broker.broker_id,
        gen=broker.gen,
        reason=Cause.UNREGISTER,
        idle_ms=0,
        heartbeat_timeout_ms=0,
    )
