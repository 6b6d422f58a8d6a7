"""Compares two name servers, or two instants, row by row, as `compare` does with two running servers."""

from typing import Any

from namekeeper.admin.compare import Comparison, compare_snapshots
from namekeeper.admin.operations import ORDER_TOPIC_CONFIG
from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart
from namekeeper.answers.render import explain_knowledge
from namekeeper.answers.row_changes import Values
from namekeeper.console.instants import RowsHeld
from namekeeper.model.broker import BrokerData

__all__ = ["difference"]

ROWS_LIMIT = 1_000
"""Most differences that are sent."""
_NOT_COMPARED = (SnapshotPart.CLUSTER_TOPICS, SnapshotPart.MEMBER_GROUP, SnapshotPart.CONFIG)
"""Parts that only repeat others, or are not kept in histories."""


def difference(a: RowsHeld, b: RowsHeld) -> dict[str, Any]:
    """Every difference of two known states, or why they can't be compared."""
    for held in (a, b):
        if not held.has_state:
            return {"rows": [], "total": 0, "why_not": f"{held.namesrv}: {explain_knowledge(held.knowledge)}"}
    found = _compared(a, b)
    return {"rows": found.differences[:ROWS_LIMIT], "total": len(found.differences), "why_not": ""}


def _compared(a: RowsHeld, b: RowsHeld) -> Comparison:
    """Compare; of topics only those with a differing row are examined."""
    topics = {
        topic for topic in a.topics.keys() | b.topics.keys() if a.topics.get(topic) != b.topics.get(topic)
    }
    return compare_snapshots(_snapshot(a, topics, "a"), _snapshot(b, topics, "b"))


def _snapshot(held: RowsHeld, topics: set[str], addr: str) -> NamesrvSnapshot:
    brokers = {name: _broker(name, values) for name, values in held.groups.items()}
    clusters: dict[str, set[str]] = {}
    for broker in brokers.values():
        clusters.setdefault(broker.cluster, set()).add(broker.broker_name)
    return NamesrvSnapshot(
        addr=addr,
        clusters={name: frozenset(members) for name, members in clusters.items()},
        brokers=brokers,
        routes={
            topic: held.versions.route(topic, held.at).route
            for topic in sorted(topics)
            if topic in held.topics
        },
        kv={ORDER_TOPIC_CONFIG: held.versions.kv_at(held.at, ORDER_TOPIC_CONFIG)},
        missing=dict.fromkeys(_NOT_COMPARED, "not asked for"),
    )


def _broker(name: str, values: Values) -> BrokerData:
    cluster, zone, acting_master, members = values
    assert isinstance(members, tuple)
    return BrokerData(
        cluster=str(cluster),
        broker_name=name,
        broker_addrs=dict(members),
        enable_acting_master=bool(acting_master),
        zone_name=None if zone is None else str(zone),
    )
