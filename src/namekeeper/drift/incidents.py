"""Drift as incidents.

Verdicts of a kind that began together are one, if the same name servers lack something.

They are those of the present, and those that are over since a while. Gold's table has drift of its own, which
is found by other rules (docs/reference/drift.md).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.incidents.drift_fact import DriftFact
from namekeeper.answers.incidents.failures import IncidentKind, islands
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.incidents.reading import NamesrvRead
from namekeeper.answers.incidents.report import Amend, ByCluster
from namekeeper.common.expected import TOGETHER_MS
from namekeeper.drift.compared import compared
from namekeeper.drift.ended import ended_drift
from namekeeper.drift.report import DriftReport, drift_report
from namekeeper.drift.verdict import DriftKind, DriftVerdict
from namekeeper.drift.witness import Witness
from namekeeper.history.history import History

__all__ = ["INCIDENT_MS", "RECENT_MS", "PresentDrift", "drift_amend", "present_drift", "with_drift"]

INCIDENT_MS = TOGETHER_MS
"""A disagreement that is over within this time is no incident: brokers register every 30 seconds, and then
tell each name server what it lacks."""
RECENT_MS = DAY_MS
"""Disagreements that were over so long before the present, or longer, are left out."""


class PresentDrift(Struct, frozen=True):
    """The drift of the present, and the incidents that it is."""

    report: DriftReport
    incidents: Sequence[FoundIncident] = ()
    """The incidents of all clusters, those included that are over lately."""


def present_drift(
    histories: Sequence[History],
    topic_rows: Mapping[str, tuple[int, int]] | None = None,
    recent_ms: int = RECENT_MS,
) -> PresentDrift:
    """The drift at the last instant that is known of all name servers.

    Args:
        histories: of all name servers.
        topic_rows: see `compared`.
        recent_ms: how long before the present a disagreement may have ended.
    """
    groups = compared(histories, None, topic_rows)
    report = drift_report(groups)
    found: list[FoundIncident] = []
    for cluster in groups.clusters:
        if len(cluster) < 2:
            continue
        members = {each.namesrv for each in cluster}
        names = _cluster_names(cluster)
        now = [
            each
            for each in report.verdicts
            if members.issuperset(each.name_servers) and groups.at - each.since >= INCIDENT_MS
        ]
        found += _incidents(now, names, None)
        for ended in ended_drift(cluster, groups.at, groups.at - recent_ms, INCIDENT_MS):
            found += _incidents(ended.verdicts, names, ended.to)
    return PresentDrift(report, found)


def with_drift(by_cluster: ByCluster, found: Iterable[FoundIncident]) -> ByCluster:
    """The incidents with those that are disagreements.

    A permission that somebody wiped at some name servers only is one incident, and its drift is none.

    Args:
        by_cluster: the others.
        found: see `PresentDrift`.
    """
    of_members: dict[tuple[str, ...], list[FoundIncident]] = defaultdict(list)
    for each in found:
        members = next((names for names, _ in by_cluster if each.name_servers[0] in names), ())
        of_members[members].append(each)
    return [
        (members, [*some, *(each for each in of_members[members] if not _is_explained(each, some))])
        for members, some in by_cluster
    ]


def _is_explained(drift: FoundIncident, others: Iterable[FoundIncident]) -> bool:
    """Whether it is a permission that differs because it was wiped, and that an incident names."""
    return drift.cause == DriftKind.PERMISSION_DIFFERS and any(
        each.kind is IncidentKind.PERMISSION_WIPED
        and set(drift.broker_names) <= set(each.broker_names)
        and abs(each.from_ts - drift.from_ts) <= TOGETHER_MS
        and (each.to_ts is None or (drift.to_ts is not None and drift.to_ts <= each.to_ts + TOGETHER_MS))
        for each in others
    )


def drift_amend(every: Iterable[NamesrvRead], since: int) -> Amend:
    """Adds what name servers disagree about to incidents that are read from journals.

    Args:
        every: as they were read.
        since: wall ms; what was over before is left out.
    """
    rows = {each.history.namesrv: each.topic_rows for each in every}

    def amend(by_cluster: ByCluster, histories: Sequence[History], ends: Mapping[str, int]) -> ByCluster:
        recent_ms = max(max(ends.values(), default=0) - since, 0)
        return with_drift(by_cluster, present_drift(histories, rows, recent_ms).incidents)

    return amend


def _cluster_names(cluster: Iterable[Witness]) -> Mapping[str, str]:
    """Broker name -> RocketMQ's cluster name."""
    return {broker.broker_name: broker.cluster for each in cluster for broker in each.registrations}


def _incidents(
    verdicts: Iterable[DriftVerdict], cluster_names: Mapping[str, str], to: int | None
) -> Iterator[FoundIncident]:
    """Verdicts of one kind that began together are one incident, if the same name servers lack something."""
    only = {*cluster_names.values()}
    usual = only.pop() if len(only) == 1 else None

    def key(one: DriftVerdict) -> tuple[str | None, str, tuple[str, ...]]:
        name = cluster_names.get(one.brokers[0], usual) if one.brokers else usual
        return name, one.kind, tuple(one.missing_at)

    groups: dict[tuple[object, int], list[DriftVerdict]] = defaultdict(list)
    for each, island in islands(verdicts, key, lambda each: (each.since, each.summary)):
        groups[key(each), island].append(each)
    for some in groups.values():
        first = some[0]
        brokers = sorted({name for each in some for name in each.brokers})
        earliest = min(each.since - each.since_window_ms for each in some)
        yield FoundIncident(
            kind=IncidentKind.DRIFT,
            cluster=key(first)[0],
            subject=_subject(first),
            from_ts=first.since,
            to_ts=to,
            cause=first.kind,
            peer=None,
            brokers=max(len(brokers), *(each.broker_count for each in some)),
            broker_names=brokers,
            topics=0,
            first_topic=None,
            name_servers=sorted({name for each in some for name in each.missing_at or each.name_servers}),
            from_window_ms=first.since - earliest or None,
            topic_names=_all_topics(some),
            drift=[_fact(each) for each in some],
        )


def _subject(verdict: DriftVerdict) -> str:
    names = verdict.topics or (verdict.brokers if len(verdict.brokers) == 1 else ())
    return (names or verdict.missing_at or verdict.name_servers)[0]


def _all_topics(verdicts: Iterable[DriftVerdict]) -> list[str]:
    """The topics that they are about; empty: not all are known, or they are about brokers."""
    topics: set[str] = set()
    for each in verdicts:
        if not each.topics or len(each.topics) < each.topic_count:
            return []
        topics.update(each.topics)
    return sorted(topics)


def _fact(verdict: DriftVerdict) -> DriftFact:
    why = (f"{each.namesrv}: {each.text}" for each in verdict.details)
    return DriftFact(kind=verdict.kind, text=verdict.text, why="; ".join(why), topics=tuple(verdict.topics))
