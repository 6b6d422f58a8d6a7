"""The functions by which a recorder reads a running server, besides the changes that it receives."""

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field

from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.lookup_cache.counters import LookupCounter
from namekeeper.route.missing import Missing

__all__ = ["Source"]


class Source(Struct, frozen=True):
    """Functions that read the server as it is now; called on the event loop."""

    take_snapshot: Callable[[], Snapshot]
    """Takes the whole state as it is now."""
    connections: Callable[[], int]
    """Gives the number of open connections."""
    take_lookups: Callable[[], Mapping[str, LookupCounter]]
    """Gives the number of lookups of each topic since the last call."""
    last_heard: Callable[[], Iterable[tuple[str, str, int]]] = tuple
    """Gives cluster, address and monotonic ms of when it was last heard, of each live broker."""
    missing: Missing = field(default_factory=Missing)
    """The brokers that went without unregistering."""
