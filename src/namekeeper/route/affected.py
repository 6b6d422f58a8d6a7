"""Which routes an event may change: those that a cache must forget, and no others.

A route depends on what `queries.topic_route` reads: the rows of the topic, the groups of the broker names
that have it, the filter servers of their addresses, and its mappings. It reads no clusters or live entries.
"""

from collections.abc import Collection, Iterable, KeysView, Mapping

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

__all__ = ["affected_topics", "broker_names_shown"]


def affected_topics(tables: RouteTables, event: Event, among: KeysView[str]) -> Collection[str]:
    """Topics whose route an event may have changed.

    Args:
        tables: right after the event was applied.
        event: what changed.
        among: the topics of interest; there may be far fewer of them than the event has, or far more. The
            result has all of them that are affected, each once, and perhaps topics that are not among them.
    """
    match event:
        case TopicQueuesChanged():
            return _changed(event, among)
        case TopicMappingChanged():
            return (event.topic,)
        case BrokerNameRemoved():
            return _in_both(event.before, among)
        case _:
            found = [_in_both(tables.topics_of(name), among) for name in broker_names_shown(tables, event)]
            if len(found) == 1:
                return found[0]
            # Two names may have the same address, and the same topics.
            return dict.fromkeys(topic for topics in found for topic in topics)


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


def _changed(event: TopicQueuesChanged, among: KeysView[str]) -> Collection[str]:
    if len(event.topics) <= len(among):
        return event.topics
    before, after = event.before, event.after  # a new broker has thousands of topics that nobody looked up
    return [topic for topic in among if before.get(topic) is not after.get(topic)]


def _in_both(table: Mapping[str, object], among: KeysView[str]) -> Collection[str]:
    if len(table) <= len(among):
        return table.keys()
    return [topic for topic in among if topic in table]


def _names_with(tables: RouteTables, cluster_name: str, broker_addr: str) -> Iterable[str]:
    """Broker names of a cluster that have this address: one, or after a wrong configuration more."""
    for name, group in tables.broker_addr_table.items():
        if group.cluster == cluster_name and broker_addr in group.broker_addrs.values():
            yield name
