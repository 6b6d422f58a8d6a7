"""Each outage of a topic with the failure that took its last row to write to: gold's `topic_outage_cause`.

This row ended at the same instant: with the session of a master, with a permission, or with a name server. If
nothing was known before, no row ended then. In that case, the failure is a broker that had the topic before
and was away.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    window_ms: int | None = None


class _Candidate(Struct):
    broker_name: str
    was_writable: bool
    way: Way | None
    who: str
    cause: str | None = None
    peer: str | None = None
    namesrv: str | None = None
    window_ms: int | None = None


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
    writable: dict[str, list[TopicPeriod]] = defaultdict(list)
    for period in (period for facts in every for period in facts.topics if period.is_writable):
        writable[period.topic].append(period)
    masters = _ends_of_masters(every)
    of_way: dict[tuple[Way, str], list[IncidentPart]] = defaultdict(list)
    for failure in failures:
        of_way[failure.way, failure.who].append(failure)
    found: list[ExplainedOutage] = []
    for outage in outages:
        rows = [
            row
            for row in writable[outage.topic]
            if row.row.since < outage.since < row.row.to + MEMORY_MS
            and last_cluster.get(row.broker_name) == outage.cluster
        ]
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
        if session.broker_id == 0 and session.row.until is not None:
            found[session.row.namesrv, session.broker_name, session.row.until].append(session)
    return found


def _endings(
    outage: TopicOutage,
    rows: Iterable[TopicPeriod],
    masters: Mapping[tuple[str, str, int], Sequence[RegistrationPeriod]],
) -> Iterator[_Candidate]:
    """The rows that could be written to until the outage began."""
    for each in rows:
        row, name = each.row, each.broker_name
        if row.to == outage.since:
            way = None
            if row.to_cause == Cause.WIPE_WRITE_PERM:
                way = Way.PERMISSION
            elif row.ended_by in _OF_NAME_SERVER:
                way = Way.NAME_SERVER
            who = row.namesrv if row.ended_by in _OF_NAME_SERVER else name
            cause = row.to_cause or row.ended_by
            yield _Candidate(name, True, way, who, cause, row.to_peer, row.namesrv, row.to_window_ms)  # noqa: FBT003
        if row.to < outage.since:
            continue
        for session in masters.get((row.namesrv, name, outage.since), ()):
            if session.cluster != outage.cluster:
                continue
            end = session.row
            is_of_name_server = end.ended_by in _OF_NAME_SERVER
            yield _Candidate(
                name, True, Way.NAME_SERVER if is_of_name_server else Way.SESSION,  # noqa: FBT003
                row.namesrv if is_of_name_server else f"{name} 0",
                session.reason or end.ended_by, end.to_peer, row.namesrv, end.to_window_ms,
            )  # fmt: skip


def _carriers(rows: Iterable[TopicPeriod]) -> Iterator[_Candidate]:
    """Where nothing is known of the time before, the brokers that had the topic when it was known."""
    for name in sorted({row.broker_name for row in rows}):
        yield _Candidate(name, False, Way.SESSION, f"{name} 0")  # noqa: FBT003


def _failure_of(
    outage: TopicOutage, candidate: _Candidate, of_way: Mapping[tuple[Way, str], Sequence[IncidentPart]]
) -> IncidentId | None:
    """The failure next to a loss: name servers find out one after the other that a broker is gone."""
    if candidate.way is None:
        return None
    since = outage.since
    found = [
        failure
        for failure in of_way.get((candidate.way, candidate.who), ())
        if failure.cluster in {None, outage.cluster}
        and failure.since <= since + LATE_MS
        and failure.to >= since
    ]
    nearest = min(found, key=lambda each: (abs(since - each.since), each.kind, each.island), default=None)
    return None if nearest is None else nearest.id


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
