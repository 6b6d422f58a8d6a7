"""Deleted topics that clients go on asking for."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from namekeeper.answers.incidents.facts import FOREVER, NamesrvFacts, TopicPeriod
from namekeeper.common.expected import MEMORY_MS, TOGETHER_MS
from namekeeper.journal.contract.record import UnknownTopicMinute

__all__ = ["Deletion", "asked_deletions"]

_MINUTE_MS = 60_000


class Deletion(Struct):
    """A topic that was deleted, and lookups of it in vain."""

    cluster: str
    topic: str
    since: int
    to: int
    """The end of the last minute in which a client asked for it; far in the future if one may still ask."""
    cause: str | None
    peer: str | None
    window_ms: int | None
    is_forgotten: bool
    rows: list[tuple[str, str]]
    """Broker name and name server of each row that was deleted."""


def asked_deletions(
    every: Sequence[NamesrvFacts],
    minutes: Mapping[str, Sequence[tuple[str, UnknownTopicMinute]]],
    last_cluster: Mapping[str, str],
    horizon: int,
) -> list[Deletion]:
    """The deleted topics that clients asked for in vain.

    Args:
        every: of all name servers.
        minutes: topic -> name server and lookups without a route.
        last_cluster: broker name -> cluster name.
        horizon: the last instant that is known, wall ms.
    """
    rows: dict[tuple[str, str], list[TopicPeriod]] = defaultdict(list)
    for period in (period for facts in every for period in facts.topics):
        cluster = last_cluster.get(period.broker_name)
        if cluster is not None and period.topic in minutes:
            rows[cluster, period.topic].append(period)
    return [
        deletion
        for (cluster, topic), some in rows.items()
        for deletion in _deletions_of(cluster, topic, some, minutes[topic], horizon)
    ]


def _deletions_of(
    cluster: str,
    topic: str,
    rows: Sequence[TopicPeriod],
    minutes: Sequence[tuple[str, UnknownTopicMinute]],
    horizon: int,
) -> Iterator[Deletion]:
    for since, last, until in _absences(rows):
        if not all(map(_is_deleted, last)):
            continue
        asked = [
            minute.minute
            for _, minute in minutes
            if minute.minute + _MINUTE_MS > since and minute.minute < until
        ]
        if not asked:
            continue
        end = max(asked) + _MINUTE_MS
        is_open = end + _MINUTE_MS >= horizon and until >= horizon
        yield Deletion(
            cluster,
            topic,
            since,
            FOREVER if is_open else min(end, until),
            min((each.row.to_cause for each in last if each.row.to_cause is not None), default=None),
            min((each.row.to_peer for each in last if each.row.to_peer is not None), default=None),
            max((each.row.to_window_ms for each in last if each.row.to_window_ms is not None), default=None),
            end >= since + MEMORY_MS,
            [
                (each.broker_name, each.row.namesrv)
                for each in rows
                if since - TOGETHER_MS <= each.row.to <= since and _is_deleted(each)
            ],
        )


def _absences(rows: Sequence[TopicPeriod]) -> Iterator[tuple[int, list[TopicPeriod], int]]:
    """The times without any row of a topic: since when, the rows that ended then, and until when."""
    periods: list[tuple[int, list[TopicPeriod]]] = []
    """End of a time with rows, and its rows."""
    begins: list[int] = []
    for each in sorted(rows, key=lambda each: (each.row.since, each.row.to)):
        if periods and each.row.since <= periods[-1][0]:
            end, some = periods[-1]
            periods[-1] = max(end, each.row.to), [*some, each]
        else:
            periods.append((each.row.to, [each]))
            begins.append(each.row.since)
    for (end, some), following in zip(periods, [*begins[1:], FOREVER], strict=True):
        yield end, [each for each in some if each.row.to == end], min(following, end + MEMORY_MS)


def _is_deleted(each: TopicPeriod) -> bool:
    return each.row.ended_by == "gone" and each.reason is None
