"""The route tables: what they hold, and the one place that applies events to them.

The rules (`registration.py`, `removal.py`, `topics.py`) read the tables and say what happened as events;
`RouteTables.apply` is the only code that changes a row. Replaying the events of a journal into empty
tables therefore gives the same tables, by the same code. Everything here runs on one event loop: no locks.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from namekeeper.model.broker import BrokerData, BrokerKey
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.route.channel import Channel
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
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
from namekeeper.route.live import BrokerLiveTable
from namekeeper.route.topic_index import TopicIndex

__all__ = ["NO_TOPICS", "RouteRules", "RouteTables"]

NO_TOPICS: Mapping[str, TopicRow] = MappingProxyType({})


class RouteRules(Struct, frozen=True):
    """Switches of the rules; a running server may change them (protocol.md 5.2)."""

    delete_topic_with_broker_registration: bool = False
    notify_min_broker_id_changed: bool = False


class RouteTables:
    """The five tables and the static-topic mappings (protocol.md 4.1), with the indexes over them."""

    def __init__(self, rules: RouteRules | None = None) -> None:
        self.rules = rules or RouteRules()
        self.topic_queue_table: dict[str, Mapping[str, TopicRow]] = {}
        """Broker name -> topic -> row. A table is immutable: a change replaces it (docs/decisions/0003)."""
        self.topic_index = TopicIndex()
        self.broker_addr_table: dict[str, BrokerData] = {}
        self.cluster_addr_table: dict[str, frozenset[str]] = {}
        self.broker_live_table = BrokerLiveTable()
        self.filter_server_table: dict[BrokerKey, tuple[str, ...]] = {}
        self.topic_queue_mapping_info_table: dict[str, dict[str, TopicQueueMappingInfo]] = {}
        """Topic -> broker name -> mapping."""
        self.gen = 0
        """The newest generation: one counter for all registrations of this boot."""
        self.revision = 0
        """Grows with every change that a route could show: what cached answers are checked against."""
        self.on_revision: Callable[[], None] = _nothing
        """Called with each of them, for answers that are not worth a check."""

    def topics_of(self, broker_name: str) -> Mapping[str, TopicRow]:
        """The topic table of a broker name."""
        return self.topic_queue_table.get(broker_name, NO_TOPICS)

    def rows_of(self, topic: str) -> list[tuple[str, TopicRow]]:
        """Broker names that have `topic` now, each with its row."""
        rows = ((name, self.topics_of(name).get(topic)) for name in self.topic_index.names(topic))
        return [(name, row) for name, row in rows if row is not None]

    def topics(self) -> list[str]:
        """Every topic that some broker name has now; linear in the number of topics."""
        tables = self.topic_queue_table
        return [
            topic
            for topic in self.topic_index
            if any(topic in tables.get(name, NO_TOPICS) for name in self.topic_index.names(topic))
        ]

    def apply_all(self, events: Iterable[Event]) -> None:
        """Apply events in order."""
        for event in events:
            self.apply(event)

    def apply(self, event: Event, channel: Channel | None = None) -> None:
        """Make the row that `event` names what it says.

        Args:
            event: what a row is now; events that are no state are ignored.
            channel: for `BrokerLiveChanged` on a running server, the connection it came over.
        """
        if isinstance(event, BrokerLiveChanged):
            self.broker_live_table.put(event, channel)
            self.gen = max(self.gen, event.gen)
            return
        apply = _APPLY.get(type(event))
        if apply is not None:
            apply(self, event)
            self._revise()

    def swap_topics(self, event: TopicQueuesChanged) -> None:
        """Show the new table of a broker name, its topics being in the index already: one pointer."""
        if event.after:
            self.topic_queue_table[event.broker_name] = event.after
        else:
            self.topic_queue_table.pop(event.broker_name, None)
        self._revise()

    def _revise(self) -> None:
        self.revision += 1
        self.on_revision()

    def drop_topics(self, event: BrokerNameRemoved) -> None:
        """Hide every row of a broker name; the index is trimmed by whoever calls."""
        self.topic_queue_table.pop(event.broker_name, None)
        self._revise()


def _nothing() -> None:
    """Nobody wants to know."""


def _apply_live_gone(tables: RouteTables, event: BrokerLiveGone) -> None:
    tables.broker_live_table.remove((event.cluster_name, event.broker_addr))


def _apply_group(tables: RouteTables, event: BrokerGroupChanged) -> None:
    tables.broker_addr_table[event.group.broker_name] = event.group


def _apply_group_gone(tables: RouteTables, event: BrokerGroupGone) -> None:
    tables.broker_addr_table.pop(event.broker_name, None)


def _apply_cluster(tables: RouteTables, event: ClusterChanged) -> None:
    if event.broker_names:
        tables.cluster_addr_table[event.cluster_name] = event.broker_names
    else:
        tables.cluster_addr_table.pop(event.cluster_name, None)


def _apply_topic_queues(tables: RouteTables, event: TopicQueuesChanged) -> None:
    current = tables.topics_of(event.broker_name)
    new = [topic for topic in event.topics if topic in event.after and topic not in current]
    tables.topic_index.add(new, event.broker_name)
    tables.swap_topics(event)
    tables.topic_index.discard(
        (topic for topic in event.topics if topic not in event.after), event.broker_name
    )


def _apply_broker_name_removed(tables: RouteTables, event: BrokerNameRemoved) -> None:
    topics = tables.topics_of(event.broker_name)
    tables.drop_topics(event)
    tables.topic_index.discard(topics, event.broker_name)


def _apply_mapping(tables: RouteTables, event: TopicMappingChanged) -> None:
    by_name = tables.topic_queue_mapping_info_table.setdefault(event.topic, {})
    if event.mapping is not None:
        by_name[event.broker_name] = event.mapping
    else:
        by_name.pop(event.broker_name, None)
    if not by_name:
        del tables.topic_queue_mapping_info_table[event.topic]


def _apply_filter_servers(tables: RouteTables, event: FilterServersChanged) -> None:
    key = (event.cluster_name, event.broker_addr)
    if event.filter_servers:
        tables.filter_server_table[key] = event.filter_servers
    else:
        tables.filter_server_table.pop(key, None)


_APPLY: dict[type, Callable[[RouteTables, Any], None]] = {
    BrokerLiveGone: _apply_live_gone,
    BrokerGroupChanged: _apply_group,
    BrokerGroupGone: _apply_group_gone,
    ClusterChanged: _apply_cluster,
    TopicQueuesChanged: _apply_topic_queues,
    BrokerNameRemoved: _apply_broker_name_removed,
    TopicMappingChanged: _apply_mapping,
    FilterServersChanged: _apply_filter_servers,
}
