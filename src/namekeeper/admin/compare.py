"""Finds the differences between two name servers: a pure function of two snapshots.

A snapshot is flattened to facts, `(part, name, detail) -> value`; the difference is that of two dictionaries.
Only differing values become text. A fact with an empty detail says that the thing exists; if one side lacks
it, its other facts are not compared. A difference that only follows from another one is left out.
"""

from collections.abc import Callable, Iterator, Mapping
from types import NoneType

import msgspec
from msgspec import Struct

from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart
from namekeeper.common.namesrv_clusters import namesrv_clusters
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.perm import format_perm
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.model.version import DataVersion

__all__ = ["Comparison", "Difference", "compare_snapshots"]

Fact = tuple[SnapshotPart, str, str]
Value = str | QueueData | TopicQueueMappingInfo | DataVersion | dict[int, str] | list[str] | None

_EXISTS = "yes"
_NOWHERE = object()
_QUEUES = "queues of "
_ADDRESSES = "addresses of "


class Difference(Struct, frozen=True):
    """One fact that differs between two name servers."""

    part: SnapshotPart
    name: str
    """Cluster, broker name, topic, namespace, ... by part."""
    detail: str
    """The compared detail; empty for the existence itself."""
    a: str | None
    """The value at the first name server; None if it has no such thing."""
    b: str | None
    """The value at the second one."""


class Comparison(Struct, frozen=True):
    """Two name servers side by side."""

    a: str
    b: str
    differences: list[Difference]
    compared: dict[SnapshotPart, int]
    """Number of compared facts of each part."""
    not_compared: dict[SnapshotPart, str]
    """Parts that one of the name servers refused -> its reason."""
    share_brokers: bool = True
    """False: both have brokers, and none in common, so they seem to be name servers of different clusters."""
    cluster_labels: tuple[str, str] = ("", "")
    """The label of the cluster of each; empty: none."""

    @property
    def is_one_cluster(self) -> bool:
        """Whether they are name servers of one cluster, as far as their labels tell."""
        a, b = self.cluster_labels
        return not a or not b or a == b


def compare_snapshots(a: NamesrvSnapshot, b: NamesrvSnapshot) -> Comparison:
    """Return every difference, sorted; a part that either side refused is not compared."""
    not_compared = {**_reasons(b), **_reasons(a)}
    facts_a, facts_b = (dict(_compared(_facts(snapshot), not_compared)) for snapshot in (a, b))
    names = sorted(facts_a.keys() | facts_b.keys())
    differing = {fact for fact in names if facts_a.get(fact, _NOWHERE) != facts_b.get(fact, _NOWHERE)}
    explanations = _Explanations(differing)
    compared: dict[SnapshotPart, int] = {}
    for part, _, _ in names:
        compared[part] = compared.get(part, 0) + 1
    differences = [
        Difference(*fact, *(_text(facts[fact]) if fact in facts else None for facts in (facts_a, facts_b)))
        for fact in names
        if fact in differing and not explanations.explain(fact)
    ]
    return Comparison(
        a.addr,
        b.addr,
        differences,
        compared,
        not_compared,
        _share_brokers(a, b),
        (a.cluster_label, b.cluster_label),
    )


def _share_brokers(a: NamesrvSnapshot, b: NamesrvSnapshot) -> bool:
    addrs = {
        side: {addr for broker in snapshot.brokers.values() for addr in broker.broker_addrs.values()}
        for side, snapshot in (("a", a), ("b", b))
    }
    return "b" in namesrv_clusters(addrs)["a"]


def _reasons(snapshot: NamesrvSnapshot) -> dict[SnapshotPart, str]:
    return {part: f"{snapshot.addr}: {why}" for part, why in snapshot.missing.items()}


def _compared(
    facts: Iterator[tuple[Fact, Value]], left_out: Mapping[SnapshotPart, str]
) -> Iterator[tuple[Fact, Value]]:
    return ((fact, value) for fact, value in facts if fact[0] not in left_out)


class _Explanations:
    """Tells which differences only follow from others, by part and name."""

    def __init__(self, differing: set[Fact]) -> None:
        self._existence = {(part, name) for part, name, detail in differing if not detail}
        self._differing = {(part, name) for part, name, _ in differing}

    def explain(self, fact: Fact) -> bool:
        part, name, detail = fact
        if detail and (part, name) in self._existence:
            return True
        match part:
            case SnapshotPart.CLUSTER:
                return (SnapshotPart.BROKER, detail) in self._existence
            case SnapshotPart.CLUSTER_TOPICS:
                return (SnapshotPart.CLUSTER, name) in self._existence or (
                    SnapshotPart.TOPIC,
                    detail,
                ) in self._differing
            case SnapshotPart.MEMBER_GROUP:
                return (SnapshotPart.BROKER, name.rpartition("/")[2]) in self._differing
            case SnapshotPart.TOPIC:
                return self._explain_route(detail)
            case _:
                return False

    def _explain_route(self, detail: str) -> bool:
        if detail.startswith(_QUEUES):
            return (SnapshotPart.BROKER, detail.removeprefix(_QUEUES)) in self._existence
        return (SnapshotPart.BROKER, detail.removeprefix(_ADDRESSES)) in self._differing


def _facts(snapshot: NamesrvSnapshot) -> Iterator[tuple[Fact, Value]]:
    for cluster, names in snapshot.clusters.items():
        yield (SnapshotPart.CLUSTER, cluster, ""), _EXISTS
        for name in names:
            yield (SnapshotPart.CLUSTER, cluster, name), _EXISTS
    for name, broker in snapshot.brokers.items():
        yield from _under((SnapshotPart.BROKER, name), _broker_facts(broker))
    for topic, route in snapshot.routes.items():
        yield from _under((SnapshotPart.TOPIC, topic), _route_facts(route))
    for cluster, topics in snapshot.cluster_topics.items():
        for topic in topics:
            yield (SnapshotPart.CLUSTER_TOPICS, cluster, topic), _EXISTS
    yield from _more_facts(snapshot)


def _more_facts(snapshot: NamesrvSnapshot) -> Iterator[tuple[Fact, Value]]:
    for (cluster, name), members in snapshot.member_groups.items():
        for broker_id, addr in members.items():
            yield (SnapshotPart.MEMBER_GROUP, f"{cluster}/{name}", f"address of id {broker_id}"), addr
    for namespace, table in snapshot.kv.items():
        if table is not None:
            yield from _under((SnapshotPart.KV, namespace), {"": _EXISTS, **table})
    for (cluster, addr), version in snapshot.data_versions.items():
        yield (SnapshotPart.DATA_VERSION, f"{cluster}/{addr}", ""), version
    for key, value in snapshot.config.items():
        yield (SnapshotPart.CONFIG, key, ""), value


def _under(of: tuple[SnapshotPart, str], details: Mapping[str, Value]) -> Iterator[tuple[Fact, Value]]:
    return (((*of, detail), value) for detail, value in details.items())


def _broker_facts(broker: BrokerData) -> dict[str, Value]:
    facts: dict[str, Value] = {
        "": _EXISTS,
        "cluster": broker.cluster,
        "enableActingMaster": str(broker.enable_acting_master).lower(),
    }
    if broker.zone_name is not None:
        facts["zoneName"] = broker.zone_name
    return facts | {f"address of id {broker_id}": addr for broker_id, addr in broker.broker_addrs.items()}


def _route_facts(route: TopicRouteData | None) -> dict[str, Value]:
    if route is None:
        return {"": "listed, without a route"}
    facts: dict[str, Value] = {"": _EXISTS}
    if route.order_topic_conf is not None:
        facts["orderTopicConf"] = route.order_topic_conf
    facts |= {_QUEUES + row.broker_name: row for row in route.queue_datas}
    facts |= {_ADDRESSES + row.broker_name: row.broker_addrs for row in route.broker_datas}
    facts |= {f"filter servers of {addr}": servers for addr, servers in route.filter_server_table.items()}
    mappings = route.topic_queue_mapping_by_broker or {}
    return facts | {f"static mapping of {name}": mapping for name, mapping in mappings.items()}


def _text(value: Value) -> str:
    return _FORMATS[type(value)](value)


def _addrs_text(addrs: dict[int, str]) -> str:
    return ", ".join(f"{broker_id}={addr}" for broker_id, addr in sorted(addrs.items()))


def _mapping_text(mapping: TopicQueueMappingInfo) -> str:
    in_order = msgspec.structs.replace(mapping, curr_id_map=dict(sorted(mapping.curr_id_map.items())))
    return msgspec.json.encode(in_order).decode()


def _queue_text(row: QueueData) -> str:
    flag = f", sysFlag {row.topic_sys_flag}" if row.topic_sys_flag else ""
    perm = f"perm {row.perm} {format_perm(row.perm)}"
    return f"read {row.read_queue_nums}, write {row.write_queue_nums}, {perm}{flag}"


_FORMATS: Mapping[type, Callable[..., str]] = {
    str: str,
    NoneType: lambda _: "not registered",
    list: ", ".join,
    dict: _addrs_text,
    QueueData: _queue_text,
    TopicQueueMappingInfo: _mapping_text,
    DataVersion: lambda version: msgspec.json.encode(version).decode(),
}
"""Type of a fact's value -> function that makes its text."""
