"""Values as text: exactly the lines and columns of Java's mqadmin 5.5.0, and JSON.

Functions here take values and return text without a line end; the caller prints it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from namekeeper.common.printable import printable, printable_json
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import ClusterInfo, TopicRouteData
from namekeeper.model.topic import QueueData

__all__ = [
    "UNKNOWN",
    "render_cluster_more_stats",
    "render_cluster_table",
    "render_cluster_wide",
    "render_java_json",
    "render_json",
    "render_key_values",
    "render_lines",
    "render_namesrv_config",
    "render_route_list",
    "render_topic_clusters",
    "route_clusters",
]

UNKNOWN = "-"
"""The text in columns that only brokers could fill."""

_ROUTE_ROW = "{:<45} {:<32} {:<50} {:<10} {:<11} {:<5}"
_ROUTE_RULE = 158
_TOPIC_HEAD = "{:<20}  {:<48}  {:<48}"
_TOPIC_ROW = "{:<20.20}  {:<64.64}  {:<64.64}"
_CLUSTER_HEAD = "{:<22}  {:<22}  {:<4}  {:<22} {:<16}  {:>16}  {:>30}  {:<22}  {:<11}  {:<12}  {:<8}  {:<10}"
_CLUSTER_ROW = "{:<22}  {:<22}  {:<4}  {:<22} {:<16}  {:>16}  {:>30}  {:<22}  {:>11}  {:<12}  {:<8}  {:>10}"
_CLUSTER_COLUMNS = (
    "#Cluster Name", "#Broker Name", "#BID", "#Addr", "#Version", "#InTPS(LOAD)", "#OutTPS(LOAD)",
    "#Timer(Progress)", "#PCWait(ms)", "#Hour", "#SPACE", "#ACTIVATED",
)  # fmt: skip
_INSTANCE_ROW = "{:<22}  {:<22}  {:<4}  {:<22}  {:<16}  {:<14}"
_WIDE_COLUMNS = ("#Zone", "#ActingMaster")
_WIDE = "  {:<8}  {:<16}  {:<14}"
_MORE_STATS_ROW = "{:<16}  {:<32} {:>14} {:>14} {:>14} {:>14}"
_MORE_STATS_COLUMNS = (
    "#Cluster Name", "#Broker Name", "#InTotalYest", "#OutTotalYest", "#InTotalToday", "#OutTotalToday",
)  # fmt: skip


def render_json(value: object) -> str:
    """Return standard JSON, indented; members of structs have their wire names."""
    return printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def render_java_json(value: object, *, is_strict: bool = False) -> str:
    """Return JSON as Java's tool prints it: tabs, members in order, bare integer keys, nulls left out.

    Args:
        value: what is printed.
        is_strict: whether integer keys have quotes, which JSON demands and Java's tool lacks.
    """
    plain = msgspec.to_builtins(value, str_keys=is_strict)
    return printable_json("".join(_java_json(plain, "\n")))


def render_lines(lines: Iterable[str]) -> str:
    """Return one line for each text, whatever characters it has."""
    return "\n".join(map(printable, lines))


def render_key_values(table: Mapping[str, str]) -> str:
    """Return one `key=value` line for each entry, sorted."""
    return render_lines(f"{key}={table[key]}" for key in sorted(table))


def render_route_list(route: TopicRouteData, *, wide: bool = False) -> str:
    """Return the table of `topicRoute -l`: a row for each broker name and a total.

    Args:
        route: of a topic.
        wide: whether rows have all that is known, in more columns than Java's.
    """
    queues = {row.broker_name: row for row in route.queue_datas}
    brokers = sorted(route.broker_datas, key=lambda broker: broker.broker_name)
    columns = _ROUTE_ROW.format(
        "#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm"
    )
    rows = [_route_row(broker, queues.get(broker.broker_name)) for broker in brokers]
    if wide:
        columns += _WIDE.format("#SysFlag", *_WIDE_COLUMNS)
        flags = [
            queues[each.broker_name].topic_sys_flag if each.broker_name in queues else UNKNOWN
            for each in brokers
        ]
        rows = [
            row + _WIDE.format(flag, *_wide_cells(broker))
            for row, flag, broker in zip(rows, flags, brokers, strict=True)
        ]
    counted = [queues[broker.broker_name] for broker in brokers if broker.broker_name in queues]
    reads, writes = sum(row.read_queue_nums for row in counted), sum(row.write_queue_nums for row in counted)
    total = _ROUTE_ROW.format("Total:", len(queues), "", reads, writes, "")
    return render_lines([columns, *rows, "-" * _ROUTE_RULE, total])


def route_clusters(route: TopicRouteData | None, info: ClusterInfo) -> list[str]:
    """Return the clusters whose brokers have this topic, sorted."""
    names = {broker.broker_name for broker in route.broker_datas} if route else set()
    return sorted(cluster for cluster, members in info.cluster_addr_table.items() if names & set(members))


def render_topic_clusters(rows: Sequence[tuple[str, str]]) -> str:
    """Return the table of `topicList -c`: cluster and topic; consumer groups are known to brokers only."""
    head = _TOPIC_HEAD.format("#Cluster Name", "#Topic", "#Consumer Group")
    return render_lines([head, *(_TOPIC_ROW.format(cluster, topic, "") for cluster, topic in rows)])


def render_cluster_table(info: ClusterInfo, cluster_name: str | None = None) -> str:
    """Return the table of `clusterList`; columns that only brokers know hold a dash."""
    unknown = [UNKNOWN] * 8
    rows = (
        _CLUSTER_ROW.format(cluster, name, broker_id, addr, *unknown)
        for cluster, name, broker_id, addr in _instances(info, cluster_name)
    )
    return render_lines([_CLUSTER_HEAD.format(*_CLUSTER_COLUMNS), *rows])


def render_cluster_wide(info: ClusterInfo, cluster_name: str | None = None) -> str:
    """Return a table of the same brokers with all that a name server knows of each, and nothing else."""
    rows = (
        _INSTANCE_ROW.format(cluster, name, broker_id, addr, *_wide_cells(info.broker_addr_table[name]))
        for cluster, name, broker_id, addr in _instances(info, cluster_name)
    )
    return render_lines([_INSTANCE_ROW.format(*_CLUSTER_COLUMNS[:4], *_WIDE_COLUMNS), *rows])


def render_cluster_more_stats(info: ClusterInfo, cluster_name: str | None = None) -> str:
    """Return the table of `clusterList -m`; columns that only brokers know hold a dash."""
    rows = (
        _MORE_STATS_ROW.format(cluster, name, *[UNKNOWN] * 4)
        for cluster, name, _, _ in _instances(info, cluster_name)
    )
    return render_lines([_MORE_STATS_ROW.format(*_MORE_STATS_COLUMNS), *rows])


def render_namesrv_config(addr: str, properties: Mapping[str, str]) -> str:
    """Return the properties of one name server under its address, sorted by key."""
    rows = (f"{key:<50}=  {properties[key]}" for key in sorted(properties))
    return render_lines([f"============{addr}============", *rows])


def _route_row(broker: BrokerData, queues: QueueData | None) -> str:
    addrs = ", ".join(f"{broker_id}={addr}" for broker_id, addr in sorted(broker.broker_addrs.items()))
    numbers = (queues.read_queue_nums, queues.write_queue_nums, queues.perm) if queues else (UNKNOWN,) * 3
    return _ROUTE_ROW.format(broker.cluster, broker.broker_name, f"{{{addrs}}}", *numbers)


def _wide_cells(broker: BrokerData) -> tuple[str, str]:
    return (broker.zone_name or UNKNOWN, "yes" if broker.enable_acting_master else "no")


def _instances(info: ClusterInfo, cluster_name: str | None) -> Iterator[tuple[str, str, int, str]]:
    """Yield cluster, broker name, id and address of each broker process, in order."""
    clusters = [cluster_name] if cluster_name else sorted(info.cluster_addr_table)
    for cluster in clusters:
        for name in sorted(info.cluster_addr_table.get(cluster, ())):
            broker = info.broker_addr_table.get(name)
            for broker_id, addr in sorted(broker.broker_addrs.items()) if broker else ():
                yield cluster, name, broker_id, addr


def _java_json(value: Any, line: str) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        members = [(key, value[key]) for key in sorted(value, key=_key_order) if value[key] is not None]
        parts = ((f"{_java_key(key)}:", member) for key, member in members)
        yield from _java_block("{", "}", line, parts)
    elif isinstance(value, list):
        yield from _java_block("[", "]", line, (("", member) for member in value))
    else:
        yield json.dumps(value, ensure_ascii=False)


def _java_block(opening: str, closing: str, line: str, parts: Iterable[tuple[str, Any]]) -> Iterator[str]:
    deeper = line + "\t"
    is_empty = True
    yield opening
    for prefix, member in parts:
        yield deeper if is_empty else f",{deeper}"
        yield prefix
        yield from _java_json(member, deeper)
        is_empty = False
    yield closing if is_empty else f"{line}{closing}"


def _java_key(key: str | int) -> str:
    return str(key) if isinstance(key, int) else json.dumps(key, ensure_ascii=False)


def _key_order(key: str | int) -> tuple[int, str]:
    return (key, "") if isinstance(key, int) else (0, key)
