"""A route narrowed to a zone (protocol.md 2.1.1)."""

from msgspec import structs

from namekeeper.model.broker import MASTER_ID, BrokerData
from namekeeper.model.route import TopicRouteData

__all__ = ["in_zone"]


def in_zone(route: TopicRouteData, zone_name: str) -> TopicRouteData:
    """Keep the brokers of a zone, and those without a master wherever they are."""
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
