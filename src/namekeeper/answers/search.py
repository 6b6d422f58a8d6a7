"""Search over all that there ever was: topics, brokers, addresses, clusters, zones, peers, name servers."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from namekeeper.history.forgotten import SearchKind, peer_host
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, LiveKey

__all__ = ["FoundNames", "NamesOfKind", "found_names"]

NAMES_LIMIT = 20
"""Most names of each kind in an answer."""


class NamesOfKind(Struct, frozen=True):
    """The names of one kind that were found."""

    kind: str
    """topic, broker, address, cluster, zone, peer or namesrv."""
    total: int
    names: Sequence[str]
    """The first ones."""
    dropped: Sequence[str]
    """The names among these that are only in changes that the histories have dropped."""


class FoundNames(Struct, frozen=True):
    """The names that contain a text, in JSON."""

    kinds: Sequence[NamesOfKind]
    known_from: int | None
    """Wall ms from which on every name is known; null: from the first one on."""


def found_names(histories: Sequence[History], text: str) -> FoundNames:
    """Names that contain a text, ignoring case; those that begin with it come first."""
    wanted = text.casefold()
    found = []
    for kind in SearchKind:
        shown = {name for each in histories for name in _names_of(each, kind)}
        dropped = {name for each in histories for name in each.forgotten.names[kind]} - shown
        found.append(_hits(kind, wanted, shown, dropped))
    found.append(_hits("namesrv", wanted, {each.namesrv for each in histories}, set()))
    known_from = [each.forgotten.names_from for each in histories if each.forgotten.names_from is not None]
    return FoundNames(found, max(known_from, default=None))


def _hits(kind: str, wanted: str, shown: set[str], dropped: set[str]) -> NamesOfKind:
    hits = sorted(
        (name for names in (shown, dropped) for name in names if wanted in name.casefold()),
        key=lambda name: (not name.casefold().startswith(wanted), name),
    )
    names = hits[:NAMES_LIMIT]
    return NamesOfKind(kind, len(hits), names, [name for name in names if name in dropped])


def _names_of(history: History, kind: SearchKind) -> Iterable[str]:
    """The names of a kind in the rows and changes of a history."""
    match kind:
        case SearchKind.TOPIC:
            return history.topics()
        case SearchKind.BROKER:
            return (key.broker_name for key in history.keys(GroupKey))
        case SearchKind.ADDRESS:
            return (key.broker_addr for key in history.keys(LiveKey))
        case SearchKind.CLUSTER:
            return (key.cluster for key in history.keys(LiveKey))
        case SearchKind.ZONE:
            groups = (each for key in history.keys(GroupKey) for each in history.versions(key))
            return (each.row.zone for each in groups if each.row.zone is not None)
        case SearchKind.PEER:
            return (peer_host(event.peer) for event in history.events if event.peer)
