"""The route tables: their content, and the only code that changes it (docs/decisions/0004).

The rules (`registration.py`, `removal.py`, `topics.py`) read the tables and describe each change as an event;
`RouteTables.apply` changes the rows. So the same code makes the same tables from the events of the journal,
applied to empty tables. All of it runs on one event loop, without locks.
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from namekeeper.model.broker import BrokerData, BrokerKey
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.now import Now
from namekeeper.route.channel import Channel
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerHeard,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    ClusterChanged,
    Event,
    FilterServersChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
    TopicRow,
)
from namekeeper.route.live import AppliedAs, BrokerLiveTable
from namekeeper.route.topic_index import TopicIndex

__all__ = ["NO_TOPICS", "RouteRules", "RouteTables", "rows_of_mapping"]

NO_TOPICS: Mapping[str, TopicRow] = MappingProxyType({})

MAX_NAMES_CACHED = 4_096
"""Sets of broker names whose tables are kept together; a cluster has a few dozen."""


class RouteRules(Struct, frozen=True):
    """Switches and limits of the rules; they may change while the server runs (protocol.md 5.2)."""

    delete_topic_with_broker_registration: bool = False
    notify_min_broker_id_changed: bool = False
    broker_names_limit: int = 0
    """Broker names, each counted in every cluster that has it; 0: no limit, as for the next three."""
    cluster_names_limit: int = 0
    brokers_limit: int = 0
    broker_ids_limit: int = 0
    topic_rows_limit: int = 0
    """Topics, each counted for every broker name, logical queues and filter servers; 0: no limit."""
    protect_broker_names: bool = False
    """Whether a live broker's name, id and address belong to the host that registered it."""


class RouteTables:
    """The five tables and the static-topic mappings (protocol.md 4.1), with the indexes over them.

    The attributes are read-only views. `apply` changes rows, and `index_topics` and `unindex_topics` change
    the index. `note_arrival`, `remember_body` and `forget_bodies` change the data beside a live registration.
    """

    def __init__(self, rules: RouteRules | None = None) -> None:
        self.rules = rules or RouteRules()
        self._topics_by_name: dict[str, Mapping[str, TopicRow]] = {}
        self.topic_rows = self.other_rows = 0
        """Topics, each counted for every broker name that has it; mappings of static topics with their
        logical queues, and filter servers."""
        self.topics_revision = 0
        """Number of times that rows of topics were put."""
        self._tables_by_names: dict[tuple[str, ...], tuple[Mapping[str, TopicRow], ...]] = {}
        """A cache: broker names -> the topic table of each; cleared when a name gets another table."""
        self._groups: dict[str, BrokerData] = {}
        self._clusters: dict[str, AbstractSet[str]] = {}
        self.memberships = 0
        """Broker names, each counted in every cluster that has it."""
        self._filter_servers: dict[BrokerKey, tuple[str, ...]] = {}
        self._mappings: dict[str, Mapping[str, TopicQueueMappingInfo]] = {}
        self.topic_queue_table: Mapping[str, Mapping[str, TopicRow]] = MappingProxyType(self._topics_by_name)
        """Broker name -> topic -> row. No code changes a table of a name: an event brings a new one."""
        self.topic_index = TopicIndex()
        self.broker_addr_table: Mapping[str, BrokerData] = MappingProxyType(self._groups)
        self.cluster_addr_table: Mapping[str, AbstractSet[str]] = MappingProxyType(self._clusters)
        self.broker_live_table = BrokerLiveTable()
        self.filter_server_table: Mapping[BrokerKey, tuple[str, ...]] = MappingProxyType(self._filter_servers)
        self.topic_queue_mapping_info_table: Mapping[str, Mapping[str, TopicQueueMappingInfo]] = (
            MappingProxyType(self._mappings)
        )
        """Topic -> broker name -> mapping."""
        self._mapped_topics: dict[str, dict[str, None]] = {}
        """Broker name -> static topics with a mapping part of this name."""
        self.gen = 0
        """The newest generation: one counter for all registrations of this boot."""
        self.on_change: Callable[[Event], None] = _nothing
        """Called with each event that changed a row that clients see, right after `apply` applied it."""
        self._appliers: dict[type, Callable[[Any], None]] = {
            BrokerLiveGone: self._remove_live,
            BrokerGroupChanged: self._put_group,
            BrokerGroupGone: self._remove_group,
            ClusterChanged: self._put_cluster,
            TopicMappingChanged: self._put_mapping,
            FilterServersChanged: self._put_filter_servers,
        }

    @property
    def is_full(self) -> bool:
        """Whether there are as many topics, logical queues and filter servers as the rules allow."""
        return 0 < self.rules.topic_rows_limit <= self.topic_rows + self.other_rows

    def topics_of(self, broker_name: str) -> Mapping[str, TopicRow]:
        """The topic table of a broker name."""
        return self._topics_by_name.get(broker_name, NO_TOPICS)

    def mapped_topics_of(self, broker_name: str) -> list[str]:
        """Static topics with a mapping part of this broker name."""
        return list(self._mapped_topics.get(broker_name, ()))

    def rows_of(self, topic: str) -> list[tuple[str, TopicRow]]:
        """Broker names that have `topic` now, each with its row."""
        names, rows = self.rows_by_name(topic)
        return [(name, row) for name, row in zip(names, rows, strict=True) if row is not None]

    def has_topic(self, topic: str) -> bool:
        """Whether any broker name has `topic` now; nearly always the first one that is looked at."""
        tables, index = self._topics_by_name, self.topic_index
        if topic in tables.get(index.some_name(topic) or "", NO_TOPICS):
            return True
        return any(topic in tables.get(name, NO_TOPICS) for name in index.names(topic))

    def rows_by_name(self, topic: str) -> tuple[tuple[str, ...], list[TopicRow | None]]:
        """Broker names that may have `topic`, and the row that each has of it now, if any; the hot path."""
        names = self.topic_index.names(topic)
        tables = self._tables_by_names.get(names)
        if tables is None:
            tables = self._tables_of(names)
        return names, [table.get(topic) for table in tables]

    def topics(self) -> list[str]:
        """Every topic that some broker name has now; linear in the number of topics."""
        return list(filter(self.has_topic, self.topic_index))

    def apply_all(self, events: Iterable[Event]) -> None:
        """Apply events in order."""
        for event in events:
            self.apply(event)

    def apply(
        self,
        event: Event,
        channel: Channel | None = None,
        now: Now | None = None,
        *,
        updates_index: bool = True,
        is_last: bool = True,
    ) -> None:
        """Change one row to the content of `event`.

        Args:
            event: a row as it is now; an event that describes no row is ignored.
            channel: on a running server, the connection of a `BrokerLiveChanged`.
            now: on a running server, the time of a broker's refresh.
            updates_index: whether to bring the topic index in step with the topics of the event. False if the
                caller does it incrementally, or if the set of topics stays the same: then the change of
                100,000 topics is the swap of one pointer.
            is_last: whether to call `on_change`. False if an event with the same topics follows at once, for
                another broker name.
        """
        if isinstance(event, BrokerHeard):
            if now is not None:
                self.broker_live_table.hear(event, now)
            return
        if isinstance(event, BrokerLiveChanged):
            self.broker_live_table.put(event, channel, now)
            self.gen = max(self.gen, event.gen)
            return
        if isinstance(event, TopicQueuesChanged):
            self._put_topics(event, updates_index=updates_index)
        elif isinstance(event, BrokerNameRemoved):
            self._remove_topics(event, updates_index=updates_index)
        else:
            applier = self._appliers.get(type(event))
            if applier is None:
                return
            applier(event)
        if is_last:
            self.on_change(event)

    def index_topics(self, topics: Iterable[str], broker_name: str) -> list[str]:
        """Enter `topics` into the index, ahead of their rows; return each as the index's string."""
        return self.topic_index.add(topics, broker_name)

    def unindex_topics(self, topics: Iterable[str], broker_name: str) -> None:
        """Take topics out of the index that `broker_name` has lost or never got."""
        self.topic_index.discard(topics, broker_name)

    def note_arrival(self, key: BrokerKey, now: Now) -> None:
        """Refresh a live registration when its 103 arrives; the event follows with the commit."""
        self.broker_live_table.note_arrival(key, now)

    def remember_body(self, key: BrokerKey, digest: bytes, applied_as: AppliedAs, *, is_full: bool) -> None:
        """Remember a body as fully applied by a live registration, and whether it was more than one topic."""
        live = self.broker_live_table.get(key)
        assert live is not None
        if is_full and not live.has_full_table:
            live.has_full_table = True
            live.applied_bodies.clear()  # from now on a single topic may remove others
        live.applied_bodies.remember(digest, applied_as)

    def forget_bodies(self, broker_name: str) -> None:
        """Have the next registration of each broker of this name decoded."""
        for live in self.broker_live_table.of_name(broker_name):
            live.applied_bodies.clear()

    def _tables_of(self, names: tuple[str, ...]) -> tuple[Mapping[str, TopicRow], ...]:
        if len(self._tables_by_names) >= MAX_NAMES_CACHED:
            self._tables_by_names.clear()
        self._tables_by_names[names] = found = tuple(map(self.topics_of, names))
        return found

    def _put_topics(self, event: TopicQueuesChanged, *, updates_index: bool) -> None:
        name, after = event.broker_name, event.after
        current = self.topics_of(name)
        self.topic_rows += len(after) - len(current)
        self.topics_revision += 1
        self._tables_by_names.clear()
        if updates_index:
            new = [topic for topic in event.topics if topic in after and topic not in current]
            self.topic_index.add(new, name)
        if after:
            self._topics_by_name[name] = after
        else:
            self._topics_by_name.pop(name, None)
        if updates_index:
            self.topic_index.discard((topic for topic in event.topics if topic not in after), name)

    def _remove_topics(self, event: BrokerNameRemoved, *, updates_index: bool) -> None:
        topics = self._topics_by_name.pop(event.broker_name, NO_TOPICS)
        self._tables_by_names.clear()
        self.topic_rows -= len(topics)
        if updates_index:
            self.topic_index.discard(topics, event.broker_name)

    def _remove_live(self, event: BrokerLiveGone) -> None:
        self.broker_live_table.remove((event.cluster_name, event.broker_addr))

    def _put_group(self, event: BrokerGroupChanged) -> None:
        self._groups[event.group.broker_name] = event.group

    def _remove_group(self, event: BrokerGroupGone) -> None:
        self._groups.pop(event.broker_name, None)

    def _put_cluster(self, event: ClusterChanged) -> None:
        self.memberships += len(event.broker_names) - len(self._clusters.get(event.cluster_name, ()))
        if event.broker_names:
            self._clusters[event.cluster_name] = event.broker_names
        else:
            self._clusters.pop(event.cluster_name, None)

    def _put_mapping(self, event: TopicMappingChanged) -> None:
        by_name = dict(self._mappings.get(event.topic, {}))
        self.other_rows += rows_of_mapping(event.mapping) - rows_of_mapping(by_name.get(event.broker_name))
        if event.mapping is not None:
            by_name[event.broker_name] = event.mapping
            self._mapped_topics.setdefault(event.broker_name, {})[event.topic] = None
        else:
            by_name.pop(event.broker_name, None)
            self._forget_mapped_topic(event)
        if by_name:
            self._mappings[event.topic] = by_name
        else:
            self._mappings.pop(event.topic, None)

    def _forget_mapped_topic(self, event: TopicMappingChanged) -> None:
        topics = self._mapped_topics.get(event.broker_name, {})
        topics.pop(event.topic, None)
        if not topics:
            self._mapped_topics.pop(event.broker_name, None)

    def _put_filter_servers(self, event: FilterServersChanged) -> None:
        """Store the filter servers, and forget applied bodies: they had other filter servers."""
        key = (event.cluster_name, event.broker_addr)
        self.other_rows += len(event.filter_servers) - len(self._filter_servers.get(key, ()))
        if event.filter_servers:
            self._filter_servers[key] = event.filter_servers
        else:
            self._filter_servers.pop(key, None)
        live = self.broker_live_table.get(key)
        if live is not None:
            live.applied_bodies.clear()


def rows_of_mapping(mapping: TopicQueueMappingInfo | None) -> int:
    """Number of rows that a mapping counts for, where rows are limited."""
    return 0 if mapping is None else 1 + len(mapping.curr_id_map)


def _nothing(_: Event) -> None:
    """The default of `on_change`: ignore the event."""
