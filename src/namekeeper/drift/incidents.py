"""Drift as incidents: those of the present, and those that are over since a while.

Gold's table has the same ones (docs/decisions/0042). Only these have the texts of verdicts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.incidents.drift_fact import DriftFact
from namekeeper.answers.incidents.failures import IncidentKind, islands
from namekeeper.answers.incidents.incident import TOPIC_NAMES, FoundIncident
from namekeeper.answers.incidents.reading import NamesrvRead
from namekeeper.answers.incidents.report import Amend, ByCluster
from namekeeper.drift.compared import compared
from namekeeper.drift.disagreement import (
    BrokerSubject,
    Disagreement,
    Found,
    KvSubject,
    Subject,
    TopicSubject,
    differ,
)
from namekeeper.drift.lacking import LackingFinder, LackingPeriod
from namekeeper.drift.report import DriftReport, found_drift
from namekeeper.drift.verdict import DriftVerdict, verdicts
from namekeeper.drift.witness import Witness
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey

__all__ = [
    "GROUPS_LIMIT",
    "RECENT_MS",
    "PresentDrift",
    "drift_amend",
    "drift_of_cluster",
    "present_drift",
    "with_drift",
]

GROUPS_LIMIT = 20
"""Most incidents of a cluster that are over; older ones are left out."""
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
    report, differing = found_drift(groups)
    found = [
        each
        for cluster, of_now in zip(groups.clusters, differing, strict=True)
        if len(cluster) > 1
        for each in drift_of_cluster(cluster, of_now, groups.at - recent_ms)
    ]
    return PresentDrift(report, found)


def drift_of_cluster(
    cluster: Sequence[Witness], of_now: Found, after: int, limit: int = GROUPS_LIMIT
) -> list[FoundIncident]:
    """The incidents of one cluster of name servers, those that are open first.

    Args:
        cluster: the name servers.
        of_now: what they disagree about now.
        after: wall ms; what was over before is left out.
        limit: most incidents that are over; the newest ones.
    """
    horizon = max(each.history.knows_up_to or 0 for each in cluster)
    finder = LackingFinder([each.as_at(horizon + 1) for each in cluster], horizon)
    subjects = {*finder.changed_since(after), *of_now.subjects}
    periods = [period for each in subjects for period in finder.of_subject(each)]
    names = _ClusterNames(cluster)
    groups: dict[tuple[object, int], list[LackingPeriod]] = defaultdict(list)
    for period, island in islands(periods, names.key, _order):
        groups[names.key(period), island].append(period)
    now = [some for some in groups.values() if any(each.is_open for each in some)]
    over = [some for some in groups.values() if not any(each.is_open for each in some) and _end(some) > after]
    over.sort(key=_end, reverse=True)
    return [_incident(some, names.of(some[0]), cluster) for some in (*now, *over[:limit])]


def with_drift(by_cluster: ByCluster, found: Iterable[FoundIncident]) -> ByCluster:
    """The incidents with those that are disagreements.

    Args:
        by_cluster: the others.
        found: see `PresentDrift`.
    """
    of_members: dict[tuple[str, ...], list[FoundIncident]] = defaultdict(list)
    for each in found:
        members = next((names for names, _ in by_cluster if each.name_servers[0] in names), ())
        of_members[members].append(each)
    return [(members, [*some, *of_members[members]]) for members, some in by_cluster]


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


class _ClusterNames:
    """RocketMQ's cluster names.

    Args:
        cluster: the name servers that know them.
    """

    def __init__(self, cluster: Sequence[Witness]) -> None:
        self._of_name: dict[str, str] = {}
        for witness in cluster:
            for key in witness.history.keys(GroupKey):
                for version in witness.history.all_versions(key):
                    name = version.row.cluster
                    self._of_name[key.broker_name] = min(name, self._of_name.get(key.broker_name, name))
        only = {*self._of_name.values()}
        self._usual = only.pop() if len(only) == 1 else None

    def of(self, one: LackingPeriod) -> str | None:
        """The cluster of what is lacking; of an entry the only one."""
        subject = one.subject
        if isinstance(subject, BrokerSubject):
            return subject.broker.cluster
        return self._of_name.get(subject.broker_name) if isinstance(subject, TopicSubject) else self._usual

    def key(self, one: LackingPeriod) -> tuple[str | None, str]:
        """Only periods with the same key are one incident."""
        return self.of(one), one.cause


def _order(one: LackingPeriod) -> tuple[int, str]:
    return one.since, str(one.subject)


def _end(some: Iterable[LackingPeriod]) -> int:
    return max(each.to for each in some)


def _incident(
    some: Sequence[LackingPeriod], cluster_name: str | None, cluster: Sequence[Witness]
) -> FoundIncident:
    subjects = {each.subject for each in some}
    brokers = {each.broker for each in subjects if isinstance(each, BrokerSubject)}
    topics = {each.topic for each in subjects if isinstance(each, TopicSubject)}
    topics |= {each.name for each in subjects if isinstance(each, KvSubject) and each.is_order}
    named_by_topics = {each.broker_name for each in subjects if isinstance(each, TopicSubject)}
    broker_names = sorted({each.broker_name for each in brokers} | named_by_topics)
    name_servers = sorted({each.namesrv for each in some})
    since = min(each.since for each in some)
    is_open, to = any(each.is_open for each in some), _end(some)
    to_window_ms = to - max(each.to - each.to_window_ms for each in some)
    return FoundIncident(
        kind=IncidentKind.DRIFT,
        cluster=cluster_name,
        subject=min(topics or broker_names or name_servers),
        from_ts=since,
        to_ts=None if is_open else to,
        cause=some[0].cause,
        peer=None,
        brokers=len({(each.broker_name, each.broker_id) for each in brokers} or named_by_topics),
        broker_names=broker_names,
        topics=0,
        first_topic=None,
        name_servers=name_servers,
        from_window_ms=since - min(each.since - each.window_ms for each in some) or None,
        to_window_ms=None if is_open else to_window_ms or None,
        topic_names=sorted(topics) if len(topics) <= TOPIC_NAMES else [],
        drift=_facts(some, cluster),
    )


def _facts(some: Sequence[LackingPeriod], cluster: Sequence[Witness]) -> list[DriftFact]:
    """The verdicts on what is lacking: now, or just before the first of them ended."""
    lasting = [each for each in some if each.is_open] or some
    at = min(each.to for each in lasting) - 1
    witnesses = [each.as_at(at) for each in cluster]
    of_subject: dict[Subject, LackingPeriod] = {}
    for each in sorted(lasting, key=_order):
        of_subject.setdefault(each.subject, each)
    found = [_disagreement(each, witnesses, at) for each in of_subject.values()]
    differing = Found.of(each for each in found if differ(each.views))
    return [_fact(each) for each in verdicts(differing, witnesses, at)]


def _disagreement(one: LackingPeriod, witnesses: Sequence[Witness], at: int) -> Disagreement[Any]:
    views = dict(sorted(one.subject.views(witnesses, at).items()))
    return Disagreement(
        one.subject, views, one.since, one.window_ms, is_since_known=True, views_since=one.since
    )


def _fact(verdict: DriftVerdict) -> DriftFact:
    why = (f"{each.namesrv}: {each.text}" for each in verdict.details)
    return DriftFact(kind=verdict.kind, text=verdict.text, why="; ".join(why), topics=tuple(verdict.topics))
