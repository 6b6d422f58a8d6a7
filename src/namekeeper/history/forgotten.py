"""The times of the changes that a history has dropped, and the names that were in their rows."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from sys import getsizeof
from typing import Any

from namekeeper.history.rows import (
    AnyKey,
    GroupKey,
    HistoryEvent,
    LiveKey,
    MappingKey,
    RowVersion,
    TopicKey,
)
from namekeeper.journal.contract.record import BrokerGroup

__all__ = ["Forgotten", "SearchKind", "names_in", "peer_host", "zones_in"]

TIME_BYTES = 9
"""Memory of a time."""
NAME_BYTES = 100
"""Memory of a name, without its text."""
KEPT_PARTS, ALL_PARTS = 7, 8
"""Beyond the limit this share is kept, so that the oldest are removed rarely, and many at once."""


class SearchKind(StrEnum):
    """Kinds of names that a search finds."""

    TOPIC = "topic"
    BROKER = "broker"
    ADDRESS = "address"
    CLUSTER = "cluster"
    ZONE = "zone"
    PEER = "peer"
    """The host of a peer that sent a request."""


class Forgotten:
    """Times and names within a limit in bytes; the oldest are removed first.

    Args:
        limit_bytes: bounds its memory, about. Times and names may each use half of it.
    """

    def __init__(self, limit_bytes: int = 0) -> None:
        self.limit_bytes = limit_bytes
        self.times = array("q")
        """Effective times of the changes, wall ms, in order and each once."""
        self.times_from: int | None = None
        """Wall ms from which on no time was removed; None: none was."""
        self.names_from: int | None = None
        """Wall ms from which on no name was removed; None: none was."""
        self._names: dict[SearchKind, dict[str, int]] = {kind: {} for kind in SearchKind}
        """Kind -> name -> wall ms of the last dropped change when it was noted."""
        self._names_size = 0

    @property
    def names(self) -> Mapping[SearchKind, Iterable[str]]:
        """The names of each kind."""
        return self._names

    def take(self, events: Sequence[HistoryEvent], names: Iterable[tuple[SearchKind, str]]) -> None:
        """Note what a history drops.

        Args:
            events: the dropped events, in order; at least one.
            names: those that no row of the history has any more.
        """
        shown = [event for event in events if event.is_shown]
        for at in sorted({event.at for event in shown}):
            if not self.times or self.times[-1] < at:
                self.times.append(at)
        last = events[-1].at
        for kind, name in names:
            self._note(kind, name, last)
        for host in {peer_host(event.peer) for event in shown if event.peer}:
            self._note(SearchKind.PEER, host, last)
        self._remove_oldest(self.limit_bytes // 2)

    def put_back(self, ts: int) -> None:
        """Note that the clock was put back: no effective time so far is after `ts`, wall ms."""
        if self.times and self.times[-1] > ts:
            self.times[bisect_left(self.times, ts) :] = array("q", [ts])

    def _note(self, kind: SearchKind, name: str, at: int) -> None:
        of_kind = self._names[kind]
        if name not in of_kind:
            self._names_size += NAME_BYTES + getsizeof(name)
        of_kind[name] = at

    def _remove_oldest(self, limit: int) -> None:
        """Remove the oldest times and names if either need more memory than this."""
        most = limit // TIME_BYTES
        if len(self.times) > most:
            count = len(self.times) - most * KEPT_PARTS // ALL_PARTS
            self.times_from = self.times[count - 1] + 1
            del self.times[:count]
        if self._names_size > limit:
            goal = limit * KEPT_PARTS // ALL_PARTS
            every = sorted(
                (at, kind, name) for kind, names in self._names.items() for name, at in names.items()
            )
            for at, kind, name in every:
                if self._names_size <= goal:
                    break
                del self._names[kind][name]
                self._names_size -= NAME_BYTES + getsizeof(name)
                self.names_from = at + 1


def names_in(key: AnyKey) -> Sequence[tuple[SearchKind, str]]:
    """The names in the key of a row, with their kinds."""
    if isinstance(key, TopicKey | MappingKey):
        return [(SearchKind.TOPIC, key.topic)]
    if isinstance(key, GroupKey):
        return [(SearchKind.BROKER, key.broker_name)]
    if isinstance(key, LiveKey):
        return [(SearchKind.ADDRESS, key.broker_addr), (SearchKind.CLUSTER, key.cluster)]
    return []


def zones_in(versions: Iterable[RowVersion[Any]]) -> Iterator[tuple[SearchKind, str]]:
    """The zones in the versions of a row."""
    for each in versions:
        if isinstance(each.row, BrokerGroup) and each.row.zone is not None:
            yield SearchKind.ZONE, each.row.zone


def peer_host(peer: str) -> str:
    """The host of a peer, whose address may have a port."""
    return peer.rpartition(":")[0] or peer
