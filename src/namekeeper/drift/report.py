"""The drift of all name servers at an instant: a value for texts, JSON, the page and metrics."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType, structs

from namekeeper.answers.times import iso_text
from namekeeper.drift.compared import Compared, compared, why_not_text
from namekeeper.drift.disagreement import Found, disagreements
from namekeeper.drift.verdict import Detail, DriftKind, DriftVerdict, VerdictFacts, verdicts, worst_first
from namekeeper.history.history import History
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG

__all__ = [
    "ComparedNamesrv",
    "Differing",
    "DriftReport",
    "DriftValue",
    "VerdictValue",
    "drift_report",
    "find_drift",
    "report_values",
    "verdict_value",
]


class ComparedNamesrv(Struct, frozen=True):
    """A name server, and the others that it was compared with."""

    namesrv: str
    compared_with: Sequence[str]
    """Sorted; empty: there is none."""
    knows_up_to: int | None
    why_not: str
    """Why it was not compared; empty if it was, or could have been."""


class Differing(Struct, frozen=True):
    """Numbers of the things about which name servers disagree, each counted once in a cluster."""

    brokers: int = 0
    topics: int = 0
    """Topics with different queues, permissions or order configurations."""
    entries: int = 0
    """Other KV entries."""

    def __add__(self, other: "Differing") -> "Differing":
        """The sum of two clusters."""
        return Differing(
            self.brokers + other.brokers, self.topics + other.topics, self.entries + other.entries
        )

    @classmethod
    def of(cls, found: Found) -> "Differing":
        """Count what the name servers of one cluster disagree about."""
        entries = [each.subject for each in found.entries]
        orders = {entry.name for entry in entries if entry.namespace == ORDER_TOPIC_CONFIG}
        topics = {each.subject.topic for each in found.topics}
        others = sum(entry.namespace != ORDER_TOPIC_CONFIG for entry in entries)
        return cls(len(found.brokers), len(topics | orders), others)


class DriftReport(Struct, frozen=True):
    """The disagreements of all name servers at an instant."""

    at: int
    """Wall ms; 0: nothing is known."""
    name_servers: Sequence[ComparedNamesrv]
    verdicts: Sequence[DriftVerdict]
    """The worst kind first, then the oldest."""
    unsettled: int
    """Brokers, topics and KV entries that are seen differently, perhaps because a change is on its way."""
    differing: Differing = Differing()
    """Numbers of the things that the verdicts are about."""
    shadow_ids: Sequence[str] = ()
    """Ids of shadows, sorted: `namekeeper shadow` compares them."""

    @property
    def is_compared(self) -> bool:
        """Whether any two name servers were compared."""
        return any(each.compared_with for each in self.name_servers)

    def counts(self) -> dict[DriftKind, int]:
        """Number of verdicts of each kind."""
        found = dict.fromkeys(DriftKind, 0)
        for each in self.verdicts:
            found[each.kind] += 1
        return found


class DetailValue(Detail, frozen=True, kw_only=True):
    """The last change at one name server, in JSON."""

    at_iso: str | UnsetType = UNSET


class VerdictValue(VerdictFacts, frozen=True, kw_only=True):
    """A verdict, in JSON."""

    details: Sequence[DetailValue] = ()
    since_iso: str


class DriftValue(Struct, frozen=True, kw_only=True):
    """The disagreements of all name servers at an instant, in JSON."""

    at: int
    """Wall ms; 0: nothing is known."""
    at_iso: str
    name_servers: Sequence[ComparedNamesrv]
    verdicts: Sequence[VerdictValue]
    """The worst kind first, then the oldest."""
    total: int
    """Number of all verdicts."""
    unsettled: int
    """Brokers, topics and KV entries that are seen differently, perhaps because a change is on its way."""
    shadow_ids: Sequence[str]
    """Ids of shadows, sorted: `namekeeper shadow` compares them."""


def find_drift(histories: Sequence[History], at: int | None = None) -> DriftReport:
    """Find what the name servers of each cluster disagree about.

    Args:
        histories: of name servers, about every name.
        at: the instant, wall ms; None is the last one that is known of all whose records end together.
    """
    return drift_report(compared(histories, at))


def drift_report(groups: Compared) -> DriftReport:
    """Find what the name servers of each cluster disagree about at an instant."""
    report, _ = found_drift(groups)
    return report


def found_drift(groups: Compared) -> tuple[DriftReport, list[Found]]:
    """The report of `drift_report`, and the disagreements of each cluster."""
    found: list[DriftVerdict] = []
    every: list[Found] = []
    unsettled = 0
    differing = Differing()
    name_servers: list[ComparedNamesrv] = []
    for cluster in groups.clusters:
        known = [each for each in cluster if each.has_rows_now]
        for each in cluster:
            others = [other.namesrv for other in known if other is not each] if each in known else []
            name_servers.append(
                ComparedNamesrv(each.namesrv, others, each.history.knows_up_to, why_not_text(each))
            )
        of_cluster = Found.of(())
        if len(known) > 1:
            of_cluster = disagreements(cluster, groups.at)
            found += verdicts(of_cluster, cluster, groups.at)
            unsettled += of_cluster.unsettled
            differing += Differing.of(of_cluster)
        every.append(of_cluster)
    found.sort(key=worst_first)
    name_servers.sort(key=lambda each: each.namesrv)
    return DriftReport(groups.at, name_servers, found, unsettled, differing, groups.shadow_ids), every


def report_values(report: DriftReport, limit: int) -> DriftValue:
    """A report as a value for JSON: each time in ms and as ISO 8601, and at most so many verdicts."""
    return DriftValue(
        at=report.at,
        at_iso=iso_text(report.at),
        name_servers=report.name_servers,
        verdicts=[verdict_value(each) for each in report.verdicts[:limit]],
        total=len(report.verdicts),
        unsettled=report.unsettled,
        shadow_ids=report.shadow_ids,
    )


def verdict_value(verdict: DriftVerdict) -> VerdictValue:
    """A verdict as a value for JSON."""
    details = [
        DetailValue(**structs.asdict(each), at_iso=UNSET if each.at is None else iso_text(each.at))
        for each in verdict.details
    ]
    members = {**structs.asdict(verdict), "details": details}
    del members["text"]
    return VerdictValue(**members, since_iso=iso_text(verdict.since))
