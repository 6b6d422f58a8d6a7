"""Search over all that there ever was: topics, brokers, addresses, clusters, zones, peers, name servers."""

from collections.abc import Sequence
from typing import Any

from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, LiveKey

__all__ = ["found_names"]

NAMES_LIMIT = 20
"""Most names of each kind in an answer."""


def found_names(histories: Sequence[History], text: str) -> dict[str, Any]:
    """Names that contain a text, ignoring case; those that begin with it come first."""
    kinds = ("topic", "broker", "address", "cluster", "zone", "peer", "namesrv")
    names: dict[str, set[str]] = {kind: set() for kind in kinds}
    for each in histories:
        names["namesrv"].add(each.namesrv)
        names["topic"].update(each.topics())
        names["broker"].update(key.broker_name for key in each.keys(GroupKey))
        names["address"].update(key.broker_addr for key in each.keys(LiveKey))
        names["cluster"].update(key.cluster for key in each.keys(LiveKey))
        names["zone"].update(
            version.row.zone
            for key in each.keys(GroupKey)
            for version in each.versions(key)
            if version.row.zone is not None
        )
        names["peer"].update(
            event.peer.rpartition(":")[0] or event.peer for event in each.events if event.peer
        )
    wanted = text.casefold()
    found = []
    for kind, of_kind in names.items():
        hits = sorted(
            (name for name in of_kind if wanted in name.casefold()),
            key=lambda name: (not name.casefold().startswith(wanted), name),
        )
        found.append({"kind": kind, "total": len(hits), "names": hits[:NAMES_LIMIT]})
    return {"kinds": found}
