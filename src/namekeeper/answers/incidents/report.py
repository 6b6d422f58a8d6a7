"""The incidents of the present and of lately, over all name servers: a value for texts, JSON and tools."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from namekeeper.answers.incidents.incident import FoundIncident, in_order, incidents_by_cluster
from namekeeper.answers.incidents.reading import NamesrvRead
from namekeeper.answers.incidents.texts import IncidentValue, incident_value
from namekeeper.answers.times import iso_text
from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey
from namekeeper.journal.reading.coverage import Knowledge

__all__ = [
    "Amend",
    "ByCluster",
    "IncidentReport",
    "IncidentsValue",
    "NamesrvValue",
    "find_incidents",
    "namesrv_value",
]

ByCluster = list[tuple[tuple[str, ...], list[FoundIncident]]]
"""The name servers of each cluster, and its incidents."""
Amend = Callable[[ByCluster, Sequence[History], Mapping[str, int]], ByCluster]


class NamesrvValue(Struct, frozen=True):
    """A name server at the end of its records, in JSON."""

    namesrv: str
    knowledge: Knowledge
    is_running: bool
    """Whether its name server, or its observer, writes the journal."""
    brokers: int | None
    writable_topics: int | None
    knows_up_to: int | None
    """Wall ms of the last instant that the records tell about."""
    knows_up_to_iso: str | None


class IncidentsValue(Struct, frozen=True):
    """Incidents in JSON."""

    namesrvs: Sequence[NamesrvValue]
    open: Sequence[IncidentValue]
    more: int
    """Incidents that are left out."""
    recent: Sequence[IncidentValue]


class IncidentReport(Struct, frozen=True):
    """The incidents of some name servers since a time."""

    name_servers: Sequence[NamesrvRead]
    open: Sequence[FoundIncident]
    """Incidents with the most topics come first, then the oldest."""
    recent: Sequence[FoundIncident]
    """Incidents that are over, the newest first."""

    @property
    def has_records(self) -> bool:
        """Whether anything is known of any name server."""
        return any(each.history.knows_up_to is not None for each in self.name_servers)

    def value(self, limit: int) -> IncidentsValue:
        """The incidents for JSON.

        Args:
            limit: most incidents of those that are open, and of those that are over.
        """
        return IncidentsValue(
            namesrvs=[namesrv_value(each) for each in self.name_servers],
            open=[incident_value(each) for each in self.open[:limit]],
            more=max(len(self.open) - limit, 0) + max(len(self.recent) - limit, 0),
            recent=[incident_value(each) for each in self.recent[:limit]],
        )


def find_incidents(every: Sequence[NamesrvRead], since: int, *amends: Amend) -> IncidentReport:
    """The incidents that are open, and those that were over after a time.

    Args:
        every: the name servers.
        since: wall ms.
        amends: add further ones in this order: those of drift, and deviations from an expected state.
    """
    ends = {each.history.namesrv: each.up_to for each in every if each.up_to is not None}
    histories = [each.history for each in every]
    topics = every[0].incident_topics if every else None
    by_cluster = incidents_by_cluster(histories, topics, ends)
    for amend in amends:
        by_cluster = amend(by_cluster, histories, ends)
    found = sorted((each for _, some in by_cluster for each in some), key=in_order)
    return IncidentReport(
        every,
        sorted((each for each in found if each.is_open), key=lambda each: (-each.topics, each.from_ts)),
        [each for each in reversed(found) if each.to_ts is not None and each.to_ts > since],
    )


def namesrv_value(each: NamesrvRead) -> NamesrvValue:
    """A name server for JSON."""
    last = each.history.knows_up_to
    knowledge = Knowledge.NOT_YET if last is None else each.history.knowledge(last)
    is_known = knowledge is Knowledge.KNOWN
    present = each.history.present.items()
    return NamesrvValue(
        namesrv=each.history.namesrv,
        knowledge=knowledge,
        is_running=each.is_written,
        brokers=sum(isinstance(key, LiveKey) for key, row in present if row is not None)
        if is_known
        else None,
        writable_topics=each.topics if is_known else None,
        knows_up_to=last,
        knows_up_to_iso=None if last is None else iso_text(last),
    )
