"""Compares two name servers, or two instants, row by row, as `compare` does with two running servers."""

from typing import Any

from namekeeper.admin.compare import Comparison, compare_snapshots
from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart
from namekeeper.answers.render import explain_knowledge
from namekeeper.answers.route import route_of
from namekeeper.console.instants import RowsHeld
from namekeeper.journal.reading.state import broker_data_of
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG

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
    if a.namesrv != b.namesrv and a.namesrv not in b.cluster and b.namesrv not in a.cluster:
        labels = a.history.cluster_label, b.history.cluster_label
        why = "their labels differ" if all(labels) else "they share no broker address"
        why_not = f"{a.namesrv} and {b.namesrv} are in different clusters: {why}"
        return {"rows": [], "total": 0, "why_not": why_not}
    found = _compared(a, b)
    return {"rows": found.differences[:ROWS_LIMIT], "total": len(found.differences), "why_not": ""}


def _compared(a: RowsHeld, b: RowsHeld) -> Comparison:
    """Compare; of topics only those with a differing row are examined."""
    topics = {
        topic for topic in a.topics.keys() | b.topics.keys() if a.topics.get(topic) != b.topics.get(topic)
    }
    return compare_snapshots(_snapshot(a, topics, "a"), _snapshot(b, topics, "b"))


def _snapshot(held: RowsHeld, topics: set[str], addr: str) -> NamesrvSnapshot:
    brokers = {name: broker_data_of(group) for name, group in held.groups.items()}
    clusters: dict[str, set[str]] = {}
    for broker in brokers.values():
        clusters.setdefault(broker.cluster, set()).add(broker.broker_name)
    return NamesrvSnapshot(
        addr=addr,
        clusters={name: frozenset(members) for name, members in clusters.items()},
        brokers=brokers,
        routes={
            topic: route_of(held.history.state_at(held.at, topic), topic)
            for topic in sorted(topics)
            if topic in held.topics
        },
        kv={ORDER_TOPIC_CONFIG: held.history.kv_at(held.at, ORDER_TOPIC_CONFIG)},
        missing=dict.fromkeys(_NOT_COMPARED, "not asked for"),
    )
