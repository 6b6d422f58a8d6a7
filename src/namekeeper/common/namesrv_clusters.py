"""Clusters of name servers: the same brokers register with all members of one, so that these can be compared.

Names do not tell clusters apart: two of them may have equal cluster names, broker names and topics.
"""

from collections.abc import Collection, Mapping

__all__ = ["SHARED_MS", "namesrv_clusters"]

SHARED_MS = 7 * 24 * 60 * 60 * 1_000
"""Name servers belong together if a broker was registered with both of them within this time."""


def namesrv_clusters(broker_addrs: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    """Tell which name servers belong together: those that share a broker address, directly or through others.

    A name server without brokers belongs to the others, if these are one cluster; otherwise it is alone.

    Args:
        broker_addrs: name server -> addresses of the brokers that it had within `SHARED_MS`.

    Returns:
        Name server -> all name servers of its cluster, itself included.
    """
    clusters: list[tuple[set[str], set[str]]] = []
    """Name servers, and addresses of their brokers."""
    for namesrv, addrs in broker_addrs.items():
        if addrs:
            members, of_members = {namesrv}, set(addrs)
            for cluster in [each for each in clusters if not each[1].isdisjoint(addrs)]:
                clusters.remove(cluster)
                members |= cluster[0]
                of_members |= cluster[1]
            clusters.append((members, of_members))
    found = [members for members, _ in clusters]
    empty = [namesrv for namesrv, addrs in broker_addrs.items() if not addrs]
    found = [*found, *({each} for each in empty)] if len(found) > 1 else [set(broker_addrs)]
    return {namesrv: frozenset(members) for members in found for namesrv in members}
