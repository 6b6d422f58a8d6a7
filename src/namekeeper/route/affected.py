"""The routes that an event may change: a cache must invalidate those, and no others.

A route depends on what `queries.topic_route` reads: the rows of the topic, the groups of the broker names
with the topic, the filter servers of their addresses, and the topic's mappings. It reads no clusters or live
entries.
"""

from collections.abc import Callable, Collection, Iterable, KeysView, Mapping
from typing import NamedTuple

from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerNameRemoved,
    Event,
    FilterServersChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.tables import RouteTables

__all__ = ["NO_TOPIC", "AffectedTopics", "affected_topics", "broker_names_shown", "one_topic"]


class AffectedTopics(NamedTuple):
    """Topics whose routes an event may have changed, found in constant time.

    The value stays correct after later changes: a change replaces the tables of broker names, and modifies
    none of them.
    """

    topics: Collection[str]
    """Each topic once; the routes of some topics may be unchanged."""
    contains: Callable[[str], bool]
    """Whether the route of a topic may have changed."""

    def among(self, known: KeysView[str]) -> Collection[str]:
        """The affected topics of interest, each once, perhaps with topics that are not of interest.

        Args:
            known: the topics of interest; there may be far fewer of them than the event has, or far more.
        """
        return self.topics if len(self.topics) <= len(known) else [*filter(self.contains, known)]


NO_TOPIC = AffectedTopics((), ().__contains__)


def affected_topics(tables: RouteTables, event: Event) -> AffectedTopics:
    """Topics whose routes an event may have changed.

    Args:
        tables: the tables right after the event was applied.
        event: the change.
    """
    match event:
        case TopicQueuesChanged(are_new=True):
            return NO_TOPIC
        case TopicQueuesChanged():
            before, after = event.before, event.after
            return AffectedTopics(event.topics, lambda topic: before.get(topic) is not after.get(topic))
        case TopicMappingChanged():
            return one_topic(event.topic)
        case BrokerNameRemoved():
            return _all_of(event.before)
        case _:
            found = [tables.topics_of(name) for name in broker_names_shown(tables, event)]
            if len(found) == 1:
                return _all_of(found[0])
            # Two names may have the same address, and the same topics.
            return _all_of(dict.fromkeys(topic for topics in found for topic in topics))


def one_topic(topic: str) -> AffectedTopics:
    """One topic and no other."""
    return AffectedTopics((topic,), (topic,).__contains__)


def broker_names_shown(tables: RouteTables, event: Event) -> Iterable[str]:
    """Broker names for which the event may change the routes of all their topics."""
    match event:
        case BrokerGroupChanged():
            return (event.group.broker_name,)
        case BrokerGroupGone():
            return (event.broker_name,)
        case FilterServersChanged():
            return _names_with(tables, event.cluster_name, event.broker_addr)
        case _:
            return ()


def _all_of(table: Mapping[str, object]) -> AffectedTopics:
    return AffectedTopics(table.keys(), table.__contains__)


def _names_with(tables: RouteTables, cluster_name: str, broker_addr: str) -> Iterable[str]:
    """Broker names of a cluster with this address: one, or more after a wrong configuration."""
    for name, group in tables.broker_addr_table.items():
        if group.cluster == cluster_name and broker_addr in group.broker_addrs.values():
            yield name
