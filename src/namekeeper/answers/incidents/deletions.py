"""Deleted topics that clients go on asking for."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from namekeeper.answers.evidence import FOREVER
from namekeeper.answers.incidents.facts import NamesrvFacts, TopicPeriod
from namekeeper.common.expected import MEMORY_MS, TOGETHER_MS
from namekeeper.journal.contract.activity import UnknownTopicMinute

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
    window_ms: int
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
    asked = sorted(minute.minute for _, minute in minutes)
    deleted = sorted(filter(_is_deleted, rows), key=_end_of)
    for since, last, until in _absences(rows):
        if not all(map(_is_deleted, last)):
            continue
        index = bisect_left(asked, until)
        if not index or asked[index - 1] + _MINUTE_MS <= since:
            continue
        end = asked[index - 1] + _MINUTE_MS
        is_open = end + _MINUTE_MS >= horizon and until >= horizon
        yield Deletion(
            cluster,
            topic,
            since,
            FOREVER if is_open else min(end, until),
            min((each.to_cause for each in last if each.to_cause is not None), default=None),
            min((each.to_peer for each in last if each.to_peer is not None), default=None),
            max((each.to_window_ms for each in last), default=0),
            end >= since + MEMORY_MS,
            [
                (each.broker_name, each.namesrv)
                for each in deleted[
                    bisect_left(deleted, since - TOGETHER_MS, key=_end_of) : bisect_right(
                        deleted, since, key=_end_of
                    )
                ]
            ],
        )


def _absences(rows: Sequence[TopicPeriod]) -> Iterator[tuple[int, list[TopicPeriod], int]]:
    """The times without any row of a topic: since when, the rows that ended then, and until when."""
    periods: list[tuple[int, list[TopicPeriod]]] = []
    """End of a time with rows, and its rows."""
    begins: list[int] = []
    for each in sorted(rows, key=lambda each: (each.valid_from, each.to)):
        if periods and each.valid_from <= periods[-1][0]:
            end, some = periods[-1]
            some.append(each)
            periods[-1] = max(end, each.to), some
        else:
            periods.append((each.to, [each]))
            begins.append(each.valid_from)
    for (end, some), following in zip(periods, [*begins[1:], FOREVER], strict=True):
        yield end, [each for each in some if each.to == end], min(following, end + MEMORY_MS)


def _end_of(each: TopicPeriod) -> int:
    return each.to


def _is_deleted(each: TopicPeriod) -> bool:
    return each.ended_by == "gone" and each.reason is None
