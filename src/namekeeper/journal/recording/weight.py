"""The memory of a queued change: it keeps only the rows that its records need, and has a weight in bytes."""

from collections.abc import Callable, Iterable, Mapping
from sys import getsizeof
from typing import Any

from namekeeper.journal.contract.activity import LookupHour
from namekeeper.journal.contract.record import (
    BrokerGroup,
    Cluster,
    FilterServers,
    Kv,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.route.broker_names import BrokerNames
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerLiveChanged,
    BrokerNameRemoved,
    Change,
    ClusterChanged,
    ConfigChanged,
    Event,
    FilterServersChanged,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
    TopicRow,
)

__all__ = ["weight_of_change", "weight_of_record", "without_spare_rows"]

_BASE = 1_000
"""Bytes of a change with one small event, or of a record, with all objects that belong to it."""
_TABLE_ROW = 64
"""A topic row in a table; the row itself and the name of the topic are shared."""
_RECORD_ROW = 120
"""A topic row in a record."""
_ENTRY = 100
"""An entry of a small dict or a list, with a number or a short text."""
_ENTRIES_OF_A_HISTORY = 3
"""Entries that a set of broker names adds to its shared history: its own, and a share of the next history."""
_FEW = 8
"""If fewer than one row in this many changes, the change keeps these rows and not the table."""


def without_spare_rows(change: Change) -> Change:
    """The same change for the writer: its records are the same, but it keeps fewer tables in memory."""
    events = tuple(map(_without_spare_rows, change.events))
    return Change(change.cause, change.remote_addr, events, change.user, change.window_ms)


def _without_spare_rows(event: Event) -> Event:
    if type(event) is BrokerNameRemoved:
        return BrokerNameRemoved(event.broker_name, {})
    if type(event) is not TopicQueuesChanged:
        return event
    name, after, topics = event.broker_name, event.after, event.topics
    rows: Mapping[str, TopicRow] = after
    if len(topics) * _FEW < len(after):
        rows = {topic: after[topic] for topic in topics if topic in after}
    return TopicQueuesChanged(name, {}, rows, topics)


def weight_of_change(change: Change) -> int:
    """Approximate memory of a change in bytes: its texts and tables."""
    weight = _BASE
    for event in change.events:
        weigh = _EVENTS.get(type(event))
        if weigh is not None:
            weight += weigh(event)
    return weight


def weight_of_record(record: Record) -> int:
    """Approximate memory of a record in bytes."""
    weigh = _RECORDS.get(type(record))
    return _BASE if weigh is None else _BASE + weigh(record)


def _texts(*texts: str) -> int:
    return sum(map(getsizeof, texts))


def _entries(texts: Iterable[str]) -> int:
    return sum(map(getsizeof, texts), _ENTRY)


def _topics(event: TopicQueuesChanged) -> int:
    return _TABLE_ROW * (len(event.after) + len(event.topics) // _FEW)


def _live(event: BrokerLiveChanged) -> int:
    return _texts(event.cluster_name, event.broker_addr, event.broker_name, event.ha_server_addr)


def _group(event: BrokerGroupChanged) -> int:
    return _ENTRY * len(event.group.broker_addrs) + _texts(event.group.broker_name, event.group.cluster)


def _cluster(event: ClusterChanged) -> int:
    names = event.broker_names
    entries = _ENTRIES_OF_A_HISTORY if isinstance(names, BrokerNames) else len(names)
    return _ENTRY * entries + _texts(event.cluster_name)


def _mapping(event: TopicMappingChanged) -> int:
    queues = 0 if event.mapping is None else len(event.mapping.curr_id_map)
    return _ENTRY * queues + _texts(event.topic, event.broker_name)


_EVENTS: Mapping[type, Callable[[Any], int]] = {
    TopicQueuesChanged: _topics,
    BrokerLiveChanged: _live,
    BrokerGroupChanged: _group,
    ClusterChanged: _cluster,
    TopicMappingChanged: _mapping,
    FilterServersChanged: lambda event: _entries(event.filter_servers),
    KvChanged: lambda event: _texts(event.namespace, event.key, event.value or ""),
    ConfigChanged: lambda event: _entries(event.properties.values()),
}
"""Events that may hold more than a small change does."""

_RECORDS: Mapping[type, Callable[[Any], int]] = {
    TopicQueues: lambda record: _RECORD_ROW * len(record.rows),
    LookupHour: lambda record: _RECORD_ROW * len(record.lookups),
    Kv: lambda record: _texts(record.namespace, record.key, record.value),
    Cluster: lambda record: _ENTRY * len(record.broker_names),
    BrokerGroup: lambda record: _ENTRY * len(record.broker_addrs),
    FilterServers: lambda record: _entries(record.filter_servers),
    TopicMapping: lambda record: len(memoryview(record.mapping)),
}
