"""Queries of the tables: routes, cluster information, lists (protocol.md 4.8 to 4.10)."""

from collections.abc import Callable, Generator
from itertools import chain

from msgspec import structs

from namekeeper.common.slices import sorted_in_slices
from namekeeper.common.writable import is_writable
from namekeeper.model.broker import MASTER_ID, BrokerData
from namekeeper.model.perm import Perm
from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData
from namekeeper.model.topic import QueueData, QueueSpec, TopicSysFlag
from namekeeper.route.broker_names import NO_NAMES
from namekeeper.route.events import TopicRow
from namekeeper.route.tables import RouteTables

__all__ = [
    "acting_group",
    "all_topics",
    "broker_member_group",
    "cluster_info",
    "has_many_parts",
    "has_unit_sub",
    "has_unit_sub_ununit",
    "in_zone",
    "is_unit",
    "shows_acting_master",
    "system_topics",
    "topic_route",
    "topics_of_cluster",
    "unit_topics",
    "unwritable_topics",
]

SYNC_MEMBER_GROUP_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
"""Topics by which brokers learn their group: these routes show no acting master (protocol.md 4.8)."""

SLICE_TOPICS = 32
"""Most topics examined in one slice. Each takes about 2 microseconds, or about 50 with 300 broker names."""
SLICE_NAMES = 5_000
"""Broker names of these topics, after which a slice ends: about a millisecond."""

UnitFilter = Callable[[int], bool]


def is_unit(sys_flag: int) -> bool:
    """Whether a topic's flag marks it as one of a unit (code 311)."""
    return bool(sys_flag & TopicSysFlag.UNIT)


def has_unit_sub(sys_flag: int) -> bool:
    """Whether a topic's flag marks it as one that units subscribe to (code 312)."""
    return bool(sys_flag & TopicSysFlag.UNIT_SUB)


def has_unit_sub_ununit(sys_flag: int) -> bool:
    """Whether units subscribe to a topic that is not one of a unit (code 313)."""
    return has_unit_sub(sys_flag) and not is_unit(sys_flag)


def topic_route(
    tables: RouteTables, topic: str, *, support_acting_master: bool = False
) -> TopicRouteData | None:
    """The route of a topic as code 105 shows it, without order configuration and zone filter.

    Returns:
        None if no broker name has the topic, or if no such broker name has a row in the broker table.
    """
    rows = tables.rows_of(topic)
    groups = [(tables.broker_addr_table[name], row) for name, row in rows if name in tables.broker_addr_table]
    if not groups:
        return None
    broker_datas = [group for group, _ in groups]
    if support_acting_master and shows_acting_master(topic, broker_datas):
        broker_datas = [acting_group(group, row.effective) for group, row in groups]
    mappings = tables.topic_queue_mapping_info_table.get(topic)
    return TopicRouteData(
        broker_datas=broker_datas,
        queue_datas=[_queue_data(name, row) for name, row in rows],
        filter_server_table=_filter_servers(tables, [group for group, _ in groups]),
        topic_queue_mapping_by_broker=None if mappings is None else dict(mappings),
    )


def has_many_parts(tables: RouteTables, topic: str, limit: int) -> bool:
    """Whether a topic's route may have more brokers, filter servers and mapped queues than `limit`."""
    parts = 0
    for mapping in tables.topic_queue_mapping_info_table.get(topic, {}).values():
        parts += len(mapping.curr_id_map)
        if parts > limit:
            return True
    filter_servers = tables.filter_server_table
    for name in tables.topic_index.names(topic):
        group = tables.broker_addr_table.get(name)
        if group is not None:
            parts += len(group.broker_addrs)
            if filter_servers:
                keys = ((group.cluster, addr) for addr in group.broker_addrs.values())
                parts += sum(len(filter_servers.get(key, ())) for key in keys)
        if parts > limit:
            return True
    return False


def shows_acting_master(topic: str, groups: list[BrokerData]) -> bool:
    """Whether readers of this topic may see a slave as master (protocol.md 4.8 step 2)."""
    if topic.startswith(SYNC_MEMBER_GROUP_PREFIX):
        return False
    return any(group.broker_addrs and MASTER_ID not in group.broker_addrs for group in groups)


def acting_group(group: BrokerData, spec: QueueSpec) -> BrokerData:
    """The group; without a master and write permission, it shows its smallest id as master (step 3)."""
    addrs = group.broker_addrs
    if not addrs or MASTER_ID in addrs or not group.enable_acting_master or spec.perm & Perm.WRITE:
        return group
    smallest = min(addrs)
    others = {broker_id: addr for broker_id, addr in addrs.items() if broker_id != smallest}
    return structs.replace(group, broker_addrs={MASTER_ID: addrs[smallest], **others})


def cluster_info(tables: RouteTables) -> ClusterInfo:
    """Every broker name and the names of each cluster (code 106)."""
    return ClusterInfo(
        broker_addr_table=dict(tables.broker_addr_table),
        cluster_addr_table={
            cluster_name: sorted(names) for cluster_name, names in tables.cluster_addr_table.items()
        },
    )


def broker_member_group(tables: RouteTables, cluster_name: str, broker_name: str) -> BrokerMemberGroup:
    """Members of a broker name (code 901); the answer repeats the cluster without a check."""
    group = tables.broker_addr_table.get(broker_name)
    return BrokerMemberGroup(cluster_name, broker_name, group.broker_addrs if group else {})


def all_topics(tables: RouteTables) -> Generator[None, None, TopicList]:
    """List incrementally every topic that some broker name has (code 206)."""
    return _select_topics(tables, tables.has_topic)


def topics_of_cluster(tables: RouteTables, cluster_name: str) -> Generator[None, None, TopicList]:
    """List incrementally the topics that any broker name of the cluster has (code 224)."""
    names = tables.topic_index.names

    def is_wanted(topic: str) -> bool:
        members = tables.cluster_addr_table.get(cluster_name, NO_NAMES)
        return any(name in members and topic in tables.topics_of(name) for name in names(topic))

    return _select_topics(tables, is_wanted)


def system_topics(tables: RouteTables) -> TopicList:
    """Cluster and broker names, and the first broker by name, which has the system topics (code 304)."""
    clusters = sorted(tables.cluster_addr_table)
    names = dict.fromkeys(clusters)
    for cluster in clusters:
        names |= dict.fromkeys(sorted(tables.cluster_addr_table[cluster]))
    groups = tables.broker_addr_table
    first = min((name for name, group in groups.items() if group.broker_addrs), default=None)
    addrs = {} if first is None else groups[first].broker_addrs
    return TopicList(list(names), broker_addr=addrs[min(addrs)] if addrs else None)


def unit_topics(tables: RouteTables, accepts: UnitFilter) -> Generator[None, None, TopicList]:
    """List incrementally the topics whose flag at the first broker name is accepted (codes 311 to 313)."""

    def is_wanted(topic: str) -> bool:
        rows = tables.rows_of(topic)
        return bool(rows) and accepts(rows[0][1].effective.topic_sys_flag)

    return _select_topics(tables, is_wanted)


def unwritable_topics(tables: RouteTables) -> Generator[None, None, TopicList]:
    """List incrementally the topics that have a row and no queue that a producer could use."""
    groups, some_name = tables.broker_addr_table, tables.topic_index.some_name

    def is_wanted(topic: str) -> bool:
        name = some_name(topic) or ""
        row = tables.topics_of(name).get(topic)
        if row is not None and _is_writable(row.effective, groups.get(name)):
            return False  # nearly always, and hundreds of brokers may have the topic
        rows = tables.rows_of(topic)
        return bool(rows) and not any(_is_writable(row.effective, groups.get(name)) for name, row in rows)

    return _select_topics(tables, is_wanted)


def _is_writable(queues: QueueSpec, group: BrokerData | None) -> bool:
    has_master = group is not None and MASTER_ID in group.broker_addrs
    return is_writable(queues.perm, queues.write_queue_nums, has_master=has_master)


def _select_topics(tables: RouteTables, is_wanted: Callable[[str], bool]) -> Generator[None, None, TopicList]:
    """The accepted topics, sorted; each slice examines its topics against the tables as they are then."""
    topics: list[str] = []
    looked = names = 0
    for topic in chain.from_iterable(tables.topic_index.shards()):
        looked += 1
        names += tables.topic_index.count(topic)
        if is_wanted(topic):
            topics.append(topic)
        if looked == SLICE_TOPICS or names >= SLICE_NAMES:
            looked = names = 0
            yield
    return TopicList((yield from sorted_in_slices(topics)))


def _queue_data(broker_name: str, row: TopicRow) -> QueueData:
    spec = row.effective
    return QueueData(
        broker_name=broker_name,
        perm=spec.perm,
        read_queue_nums=spec.read_queue_nums,
        topic_sys_flag=spec.topic_sys_flag,
        write_queue_nums=spec.write_queue_nums,
    )


def _filter_servers(tables: RouteTables, groups: list[BrokerData]) -> dict[str, list[str]]:
    if not tables.filter_server_table:
        return {}
    found = {}
    for group in groups:
        for addr in group.broker_addrs.values():
            servers = tables.filter_server_table.get((group.cluster, addr))
            if servers:
                found[addr] = list(servers)
    return found


def in_zone(route: TopicRouteData, zone_name: str) -> TopicRouteData:
    """Keep the brokers of a zone, and those without a master in any zone."""
    kept = [group for group in route.broker_datas if _is_kept(group, zone_name)]
    dropped = [group for group in route.broker_datas if not _is_kept(group, zone_name)]
    dropped_names = {group.broker_name for group in dropped}
    dropped_addrs = {addr for group in dropped for addr in group.broker_addrs.values()}
    return structs.replace(
        route,
        broker_datas=kept,
        queue_datas=[queue for queue in route.queue_datas if queue.broker_name not in dropped_names],
        filter_server_table={
            addr: servers for addr, servers in route.filter_server_table.items() if addr not in dropped_addrs
        },
    )


def _is_kept(group: BrokerData, zone_name: str) -> bool:
    if MASTER_ID not in group.broker_addrs:
        return True
    return group.zone_name is not None and group.zone_name.lower() == zone_name.lower()
