"""Clusters of name servers: the same brokers register with all members of one, so that these can be compared.

Names do not tell clusters apart: two of them may have equal cluster names, broker names and topics. Two
networks may also have equal addresses; only labels, which operators set, tell those apart.
"""

from collections.abc import Collection, Mapping

__all__ = ["LABEL_RULE", "SHARED_MS", "is_valid_label", "namesrv_clusters"]

SHARED_MS = 7 * 24 * 60 * 60 * 1_000
"""Name servers belong together if a broker was registered with both of them within this time."""
LABEL_RULE = "letters, digits, underscores, and single dots or hyphens between them"
_NO_LABELS: Mapping[str, str] = {}


def is_valid_label(text: str) -> bool:
    """Whether a text can be the label of a cluster: see `LABEL_RULE`."""
    parts = text.replace("-", ".").split(".")
    are_words = all(part.replace("_", "a").isalnum() for part in parts)
    return text.isascii() and are_words


def namesrv_clusters(
    broker_addrs: Mapping[str, Collection[str]], labels: Mapping[str, str] = _NO_LABELS
) -> dict[str, frozenset[str]]:
    """Tell which name servers belong together: those with one label, or those that share a broker address.

    Name servers share addresses directly or through others, and those with different labels never belong
    together. Name servers without a label belong to a label if they share an address with name servers of
    this label only. A name server without label and brokers belongs to the others, if these are one cluster;
    otherwise it is alone.

    Args:
        broker_addrs: name server -> addresses of the brokers that it had within `SHARED_MS`.
        labels: name server -> label of its cluster; empty or missing: none.

    Returns:
        Name server -> all name servers of its cluster, itself included.
    """
    of_label: dict[str, tuple[set[str], set[str]]] = {}
    """Label -> name servers, and addresses of their brokers."""
    for namesrv, addrs in broker_addrs.items():
        if label := labels.get(namesrv, ""):
            members, of_members = of_label.setdefault(label, (set(), set()))
            members.add(namesrv)
            of_members.update(addrs)
    without = {name: addrs for name, addrs in broker_addrs.items() if not labels.get(name, "")}
    found = [members for members, _ in of_label.values()]
    for members, addrs in _sharing(without):
        near = [cluster for cluster, of_cluster in of_label.values() if not of_cluster.isdisjoint(addrs)]
        if len(near) == 1:
            near[0].update(members)
        else:
            found.append(members)
    empty = [namesrv for namesrv, addrs in without.items() if not addrs]
    found = [*found, *({each} for each in empty)] if len(found) > 1 else [set(broker_addrs)]
    return {namesrv: frozenset(members) for members in found for namesrv in members}


def _sharing(broker_addrs: Mapping[str, Collection[str]]) -> list[tuple[set[str], set[str]]]:
    """Name servers that share an address, directly or through others; and all their addresses."""
    clusters: list[tuple[set[str], set[str]]] = []
    for namesrv, addrs in broker_addrs.items():
        if addrs:
            members, of_members = {namesrv}, set(addrs)
            for cluster in [each for each in clusters if not each[1].isdisjoint(addrs)]:
                clusters.remove(cluster)
                members |= cluster[0]
                of_members |= cluster[1]
            clusters.append((members, of_members))
    return clusters
