"""The brokers and routes of a recorded state, to compute the loss of some brokers."""

from collections.abc import Collection, Iterable

from namekeeper.admin.snapshot import NamesrvSnapshot
from namekeeper.admin.what_if import Gone, brokers_in_zones
from namekeeper.answers.route import route_of
from namekeeper.journal.reading.state import State
from namekeeper.route.queries import cluster_info

__all__ = ["gone_of", "snapshot_of"]


def snapshot_of(namesrv: str, state: State) -> NamesrvSnapshot:
    """Brokers and routes, as the name server would have answered.

    Args:
        namesrv: its id.
        state: of one instant.
    """
    info = cluster_info(state.tables)
    topics = {topic for rows in state.tables.topic_queue_table.values() for topic in rows}
    return NamesrvSnapshot(
        addr=namesrv,
        clusters={name: frozenset(members) for name, members in info.cluster_addr_table.items()},
        brokers=dict(info.broker_addr_table),
        routes={topic: route_of(state, topic) for topic in sorted(topics)},
    )


def gone_of(
    snapshots: Iterable[NamesrvSnapshot], names: Collection[str], zones: Collection[str]
) -> tuple[list[Gone], set[str]]:
    """The brokers that are taken away at each name server, and the names that no name server has.

    Args:
        snapshots: one of each name server.
        names: broker names, and addresses of single members.
        zones: names of zones.
    """
    found: list[Gone] = []
    unknown = {*names, *zones}
    for snapshot in snapshots:
        brokers = snapshot.brokers
        addresses = {addr for broker in brokers.values() for addr in broker.broker_addrs.values()}
        of_zones = brokers_in_zones(brokers, zones)
        found.append(Gone(frozenset(brokers.keys() & names) | of_zones, frozenset(addresses & set(names))))
        there = {brokers[name].zone_name for name in of_zones}
        unknown -= {*brokers, *addresses, *(zone for zone in there if zone is not None)}
    return found, unknown
