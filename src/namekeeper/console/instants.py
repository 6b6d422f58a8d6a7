"""The rows that each name server held at an instant, a cache of them, and rows about which they disagree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from namekeeper.common.namesrv_clusters import SHARED_MS, namesrv_clusters
from namekeeper.history.history import History
from namekeeper.history.rows import AnyKey, GroupKey, HistoryEvent, LiveKey, Row, RowVersion, TopicKey
from namekeeper.journal.contract.record import BrokerGroup, BrokerLive, TopicQueuesRow
from namekeeper.journal.reading.coverage import Knowledge

__all__ = [
    "HeldCache",
    "RowsHeld",
    "by_cluster",
    "differs_since",
    "end_of",
    "held_by",
    "held_by_each",
    "since",
]

_KEPT, _ROWS_KEPT = 4, 100_000
"""Instants whose rows are cached, because a slider is moved back and forth; and the rows in those before the
last one."""


class RowsHeld(Struct, frozen=True):
    """The rows of one name server at an instant; empty if its state is not known."""

    history: History
    at: int
    """Wall ms."""
    knowledge: Knowledge
    live: Mapping[LiveKey, BrokerLive]
    groups: Mapping[str, BrokerGroup]
    """Broker name -> its group."""
    topics: Mapping[str, Mapping[str, TopicQueuesRow]]
    """Topic -> broker name -> its queues."""
    cluster: frozenset[str] = frozenset()
    """Ids of the name servers with which it can be compared, its own included."""

    @property
    def namesrv(self) -> str:
        """Id of the name server."""
        return self.history.namesrv

    @property
    def has_state(self) -> bool:
        """Whether its state is known."""
        return self.knowledge is Knowledge.KNOWN


def end_of(history: History) -> int:
    """The last instant of the known time, wall ms; 0 if there is none."""
    return history.knows_up_to or 0


def held_by(history: History, at: int | None) -> RowsHeld:
    """All rows of a name server at an instant; None is its end."""
    instant = end_of(history) if at is None else at
    knowledge = history.knowledge(instant)
    if knowledge is not Knowledge.KNOWN:
        return RowsHeld(history, instant, knowledge, {}, {}, {})
    topics: dict[str, dict[str, TopicQueuesRow]] = {}
    for key, row in history.rows(TopicKey, instant):
        topics.setdefault(key.topic, {})[key.broker_name] = row
    groups = {key.broker_name: row for key, row in history.rows(GroupKey, instant)}
    return RowsHeld(history, instant, knowledge, dict(history.rows(LiveKey, instant)), groups, topics)


def held_by_each(histories: Sequence[History], at: int | None) -> list[RowsHeld]:
    """All rows of each name server at an instant, and its cluster; None is the end of each."""
    found = [held_by(each, at) for each in histories]
    addrs = {held.namesrv: set(_recent_addrs(held)) for held in found}
    clusters = namesrv_clusters(addrs, {held.namesrv: held.history.cluster_label for held in found})
    return [structs.replace(held, cluster=clusters[held.namesrv]) for held in found]


class HeldCache:
    """The rows of the instants that were looked at last."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int | None], list[RowsHeld]] = {}

    def held(self, revision: int, histories: Sequence[History], at: int | None) -> list[RowsHeld]:
        """All rows of each name server at an instant, see `held_by_each`.

        Args:
            revision: number of changes of the histories.
            histories: what is read if the cache has no such instant.
            at: wall ms; None is the end of each history.
        """
        key = (revision, at)
        found = self._kept.get(key)
        if found is None:
            found = held_by_each(histories, at)
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[int, int | None], found: list[RowsHeld]) -> None:
        """Cache the rows of an instant; drop those beyond the limits, and those of older revisions."""
        kept = {key: found}
        rows = 0
        for other, held in reversed(self._kept.items()):
            rows += sum(len(each.topics) + len(each.live) for each in held)
            if other[0] == key[0] and len(kept) < _KEPT and rows <= _ROWS_KEPT:
                kept[other] = held
        self._kept = dict(reversed(kept.items()))


def by_cluster(all_held: Iterable[RowsHeld]) -> list[list[RowsHeld]]:
    """Name servers that can be compared, for each cluster."""
    found: dict[frozenset[str], list[RowsHeld]] = {}
    for held in all_held:
        found.setdefault(held.cluster, []).append(held)
    return list(found.values())


def _recent_addrs(held: RowsHeld) -> Iterator[str]:
    """Addresses of the brokers that a name server had not long before the instant."""
    for key in held.history.keys(LiveKey):
        last = held.history.version_at(key, held.at)
        if last is not None and (last.valid_to is None or held.at < last.valid_to + SHARED_MS):
            yield key.broker_addr


def since(history: History, key: LiveKey, at: int) -> HistoryEvent | None:
    """The start of the present registration of a broker; None: from the beginning."""
    oldest: RowVersion[BrokerLive] | None = None
    for version in reversed(history.versions(key)):
        if version.begun.at > at:
            continue
        if oldest is not None and (version.row.gen != oldest.row.gen or version.ended is not oldest.begun):
            break
        oldest = version
    first = history.knows_from
    is_known = oldest is not None and (first is None or first < oldest.begun.at)
    return oldest.begun if oldest is not None and is_known else None


def differs_since(all_held: Sequence[RowsHeld], keys: Iterable[AnyKey]) -> int | None:
    """The start of the disagreement of name servers about rows, wall ms; None if they agree.

    The last period counts in which the states of all are known, and these states differ.
    """
    known = [held for held in all_held if held.has_state]
    wanted = list(keys)
    if len(known) < 2 or not _differ(known, wanted, None):
        return None
    first = max(held.history.knows_from or 0 for held in known)
    found = min(held.at for held in known)
    for time in sorted(set(_times(known, wanted, found)), reverse=True):
        if time < first or not _differ(known, wanted, time):
            break
        found = time
    return found


def _times(known: Sequence[RowsHeld], keys: Sequence[AnyKey], until: int) -> Iterator[int]:
    for held in known:
        for key in keys:
            yield from (time for time, _ in held.history.changes_of(key) if time <= until)
        yield from (period.since for period in held.history.periods() if period.since <= until)


def _differ(known: Sequence[RowsHeld], keys: Sequence[AnyKey], at: int | None) -> bool:
    """Whether the rows differ at a time; None is the instant of each name server."""
    if at is not None and any(held.history.knowledge(at) is not Knowledge.KNOWN for held in known):
        return False
    shown = [[_shown(held, key, held.at if at is None else at) for key in keys] for held in known]
    return any(each != shown[0] for each in shown[1:])


def _shown(held: RowsHeld, key: AnyKey, at: int) -> Row | None:
    """The part of a row on which name servers can agree: each has its own generations and data versions."""
    version: RowVersion[Any] | None = held.history.version_at(key, at)
    row: Row | None = version.row if version is not None and version.is_valid(at) else None
    return structs.replace(row, data_version=None, gen=0) if isinstance(row, BrokerLive) else row
