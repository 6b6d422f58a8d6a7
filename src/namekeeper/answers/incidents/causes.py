"""Each outage of a topic with the failure that took its last row to write to: gold's `topic_outage_cause`.

This row ended at the same instant: with the session of a master, with a permission, or with a name server. If
nothing was known before, no row ended then. In that case, the failure is a broker that had the topic before
and was away.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter

from msgspec import Struct

from namekeeper.answers.incidents.facts import NamesrvFacts, RegistrationPeriod, TopicPeriod
from namekeeper.answers.incidents.failures import IncidentId, IncidentPart, Way
from namekeeper.answers.incidents.states import TopicOutage
from namekeeper.common.expected import LATE_MS, MEMORY_MS
from namekeeper.route.events import Cause

__all__ = ["ExplainedOutage", "explained_outages"]

_OF_NAME_SERVER = frozenset({"stopped", "unknown"})
"""Ends of rows with their name server, or with the knowledge of it."""


class ExplainedOutage(Struct):
    """An outage of a topic with the row whose end began it."""

    outage: TopicOutage
    failure: IncidentId | None = None
    """None: only the row itself changed."""
    was_writable: bool = False
    cause: str | None = None
    peer: str | None = None
    broker_name: str | None = None
    namesrv: str | None = None
    window_ms: int = 0


class _Candidate(Struct):
    broker_name: str
    was_writable: bool
    way: Way | None
    who: str
    cause: str | None = None
    peer: str | None = None
    namesrv: str | None = None
    window_ms: int = 0


_Failed = tuple[Way, str, str | None]
"""How and of whom a failure is, and its cluster name."""


class _RowsOfTopic:
    """The rows of one topic that can be written to, of each broker name at each name server in order."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], list[TopicPeriod]] = defaultdict(list)

    def add(self, period: TopicPeriod) -> None:
        """Add a row; those of one broker name at one name server come in their order and do not overlap."""
        self._of[period.namesrv, period.broker_name].append(period)

    def before(self, at: int) -> list[TopicPeriod]:
        """The last row before an instant of each broker name at each name server, if it is still expected."""
        found: list[TopicPeriod] = []
        for some in self._of.values():
            index = bisect_left(some, at, key=_since)
            if index and at < some[index - 1].to + MEMORY_MS:
                found.append(some[index - 1])
        return found


class _FailuresInTime:
    """Failures of one way and subject, by their time."""

    def __init__(self, parts: Iterable[IncidentPart]) -> None:
        self._parts = sorted(parts, key=attrgetter("since"))
        self._starts = [each.since for each in self._parts]
        self._ends = [*accumulate((each.to for each in self._parts), max)]
        """The latest end of all failures up to each one."""

    def nearest(self, at: int) -> Iterator[IncidentPart]:
        """The failures nearest to an instant: before it and not over, and from it on but not much later."""
        split = bisect_left(self._starts, at)
        if split < len(self._parts) and self._starts[split] <= at + LATE_MS:
            first = self._starts[split]
            yield from self._parts[split : bisect_right(self._starts, first)]
        last: int | None = None
        for index in range(split - 1, -1, -1):
            since = self._starts[index]
            if self._ends[index] < at or (last is not None and since < last):
                return
            if self._parts[index].to >= at:
                last = since
                yield self._parts[index]


def explained_outages(
    every: Sequence[NamesrvFacts],
    outages: Iterable[TopicOutage],
    failures: Iterable[IncidentPart],
    last_cluster: Mapping[str, str],
) -> list[ExplainedOutage]:
    """The outages with their causes, in their order.

    Args:
        every: of all name servers.
        outages: of all topics.
        failures: all of them.
        last_cluster: broker name -> cluster name.
    """
    writable: dict[tuple[str | None, str], _RowsOfTopic] = defaultdict(_RowsOfTopic)
    for period in (period for facts in every for period in facts.topics if period.is_writable):
        writable[last_cluster.get(period.broker_name), period.topic].add(period)
    masters = _ends_of_masters(every)
    parts: dict[_Failed, list[IncidentPart]] = defaultdict(list)
    for failure in failures:
        parts[failure.way, failure.who, failure.cluster].append(failure)
    of_way = {key: _FailuresInTime(some) for key, some in parts.items()}
    found: list[ExplainedOutage] = []
    for outage in outages:
        rows = writable[outage.cluster, outage.topic].before(outage.since)
        candidates = [*_endings(outage, rows, masters)] or [*_carriers(rows)]
        choices = [(each, _failure_of(outage, each, of_way)) for each in candidates]
        found.append(_explained(outage, min(choices, key=_preference, default=None)))
    return found


def _explained(outage: TopicOutage, chosen: tuple[_Candidate, IncidentId | None] | None) -> ExplainedOutage:
    if chosen is None:
        return ExplainedOutage(outage)
    row, failure = chosen
    return ExplainedOutage(
        outage, failure, row.was_writable, row.cause, row.peer, row.broker_name, row.namesrv, row.window_ms
    )


def _ends_of_masters(
    every: Sequence[NamesrvFacts],
) -> Mapping[tuple[str, str, int], Sequence[RegistrationPeriod]]:
    """The sessions of masters that ended, by name server, broker name and end."""
    found: dict[tuple[str, str, int], list[RegistrationPeriod]] = defaultdict(list)
    for session in (session for facts in every for session in facts.sessions):
        if session.broker_id == 0 and session.valid_to is not None:
            found[session.namesrv, session.broker_name, session.valid_to].append(session)
    return found


def _endings(
    outage: TopicOutage,
    rows: Iterable[TopicPeriod],
    masters: Mapping[tuple[str, str, int], Sequence[RegistrationPeriod]],
) -> Iterator[_Candidate]:
    """The rows that could be written to until the outage began."""
    for each in rows:
        name, namesrv = each.broker_name, each.namesrv
        if each.to == outage.since:
            way = None
            if each.to_cause == Cause.WIPE_WRITE_PERM:
                way = Way.PERMISSION
            elif each.ended_by in _OF_NAME_SERVER:
                way = Way.NAME_SERVER
            who = namesrv if each.ended_by in _OF_NAME_SERVER else name
            cause = each.to_cause or each.ended_by
            yield _Candidate(name, True, way, who, cause, each.to_peer, namesrv, each.to_window_ms)  # noqa: FBT003
        if each.to < outage.since:
            continue
        for session in masters.get((namesrv, name, outage.since), ()):
            if session.cluster != outage.cluster:
                continue
            is_of_name_server = session.ended_by in _OF_NAME_SERVER
            yield _Candidate(
                name, True, Way.NAME_SERVER if is_of_name_server else Way.SESSION,  # noqa: FBT003
                namesrv if is_of_name_server else f"{name} 0",
                session.reason or session.ended_by, session.to_peer, namesrv, session.to_window_ms,
            )  # fmt: skip


def _carriers(rows: Iterable[TopicPeriod]) -> Iterator[_Candidate]:
    """Where nothing is known of the time before, the brokers that had the topic when it was known."""
    for name in sorted({row.broker_name for row in rows}):
        yield _Candidate(name, False, Way.SESSION, f"{name} 0")  # noqa: FBT003


def _failure_of(
    outage: TopicOutage, candidate: _Candidate, of_way: Mapping[_Failed, _FailuresInTime]
) -> IncidentId | None:
    """The failure next to a loss: name servers find out one after the other that a broker is gone."""
    if candidate.way is None:
        return None
    since = outage.since
    found = [
        failure
        for cluster in (None, outage.cluster)
        if (failures := of_way.get((candidate.way, candidate.who, cluster))) is not None
        for failure in failures.nearest(since)
    ]
    nearest = min(found, key=lambda each: (abs(since - each.since), each.kind, each.island), default=None)
    return None if nearest is None else nearest.id


def _since(period: TopicPeriod) -> int:
    return period.valid_from


def _preference(choice: tuple[_Candidate, IncidentId | None]) -> tuple[object, ...]:
    candidate, failure = choice
    return (
        failure is None,
        candidate.way is None,
        candidate.broker_name,
        candidate.namesrv or "",
        "" if failure is None else failure.kind,
        0 if failure is None else failure.island,
        candidate.cause or "",
        candidate.peer is None,
        candidate.peer or "",
    )
