"""Search over all that there ever was: topics, brokers, addresses, clusters, zones, peers, name servers."""

from collections.abc import Sequence
from typing import Any

from namekeeper.answers.row_versions import RowVersions

__all__ = ["found_names"]

NAMES_LIMIT = 20
"""Most names of each kind in an answer."""


def found_names(histories: Sequence[RowVersions], text: str) -> dict[str, Any]:
    """Names that contain a text, ignoring case; those that begin with it come first."""
    kinds = ("topic", "broker", "address", "cluster", "zone", "peer", "namesrv")
    names: dict[str, set[str]] = {kind: set() for kind in kinds}
    for each in histories:
        names["namesrv"].add(each.namesrv)
        names["topic"].update(each.topics())
        names["broker"].update(key[1] for key in each.keys("group"))
        names["address"].update(key[2] for key in each.keys("live"))
        names["cluster"].update(key[1] for key in each.keys("live"))
        names["zone"].update(
            str(version.values[1])
            for key in each.keys("group")
            for version in each.versions(key)
            if version.values is not None and version.values[1] is not None
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
