"""Incidents: failures with their time, cause and cost, as gold's table `incident` has them.

A topic that could not be written to belongs to the cost of the failure that took its last row to write to. A
topic without such a failure is an incident of its own. So are deleted topics that clients go on asking for.

Where a checkpoint and a loss have one effective time, gold says that the checkpoint ended the rows. Here it
is the loss.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from namekeeper.answers.incidents.causes import ExplainedOutage, explained_outages
from namekeeper.answers.incidents.deletions import Deletion, asked_deletions
from namekeeper.answers.incidents.deviation import Deviation, DeviationKind
from namekeeper.answers.incidents.drift_fact import DriftFact
from namekeeper.answers.incidents.facts import NamesrvFacts, TopicPeriod, facts_of
from namekeeper.answers.incidents.failures import IncidentId, IncidentKind, IncidentPart, failures, islands
from namekeeper.answers.incidents.states import broker_outages, topic_outages
from namekeeper.common.expected import MASS_BROKERS, TOGETHER_MS
from namekeeper.common.namesrv_clusters import SHARED_MS, namesrv_clusters
from namekeeper.common.shadow_names import is_shadow
from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey
from namekeeper.journal.contract.activity import UnknownTopicMinute
from namekeeper.model.broker import MASTER_ID

__all__ = ["FoundIncident", "in_order", "incidents", "incidents_by_cluster", "incidents_of_cluster"]

_MINUTE_MS = 60_000
TOPIC_NAMES = 100
"""Most topics of an incident whose names are kept, because each may be in a maintenance window."""


class FoundIncident(Struct, kw_only=True):
    """Something that was wrong, and its cost."""

    kind: IncidentKind
    cluster: str | None
    """Cluster name; None for a name server."""
    subject: str
    """The broker name, topic or name server; the first of several by name."""
    from_ts: int
    """Wall ms."""
    to_ts: int | None
    """Wall ms; None: it is open."""
    cause: str | None
    peer: str | None
    brokers: int
    broker_names: list[str]
    topics: int
    """How many topics could not be written to."""
    first_topic: str | None
    name_servers: list[str]
    """Name servers with the rows that broke; empty: it is not about any."""
    lookups: int = 0
    """Lookups of these topics that found no route meanwhile."""
    languages: list[str] = []
    is_forgotten: bool = False
    """Whether it ended because nobody expected the broker any more."""
    topic_ms: int = 0
    """Time in which topics could not be written to, added up over them."""
    closed_by: str | None = None
    from_window_ms: int | None = None
    """The start was up to this long before `from_ts`; None: exactly then."""
    to_window_ms: int | None = None
    """The end was up to this long before `to_ts`; None: exactly then, or it is open."""
    planned: str = ""
    """Ids of the maintenance windows that it is a part of; empty: it is not planned."""
    deviation: DeviationKind | None = None
    """How something deviates from the expected state; None: it is another kind of incident."""
    deviations: list[Deviation] = []
    """All deviations of the incident, in order of time."""
    topic_names: list[str] = []
    """The first 100 topics of an incident about topics, sorted; empty: it is of another kind."""
    planned_topics: int = 0
    """How many further topics are planned, and are not counted in `topics`."""
    broker_ids: list[list[int]] = []
    """Ids of the brokers that went, sorted, for each of `broker_names`; 0 is the master."""
    drift: list[DriftFact] = []
    """For kind `drift`: the verdicts on what name servers disagree about, in order of time."""

    @property
    def is_open(self) -> bool:
        """Whether it had not ended at the last instant that is known."""
        return self.to_ts is None


class _TopicCost(Struct):
    """The cost of an incident for one topic."""

    topic: str
    since: int
    to: int
    is_lost: bool = True


_Costs = dict[IncidentId, list[_TopicCost]]
_Minutes = dict[str, list[tuple[str, UnknownTopicMinute]]]
"""Topic -> name server and lookups without a route."""


def incidents(
    histories: Iterable[History],
    topics: Collection[str] | None = None,
    up_to: Mapping[str, int] | None = None,
) -> list[FoundIncident]:
    """The incidents of any name servers, in order of their time.

    Args:
        histories: one for each name server. Only name servers of one cluster are looked at together.
        topics: those that incidents may be about, see `lost_topics`; None: all.
        up_to: name server -> the last instant that counts, wall ms; by default the last that is known. Name
            servers that run need the same instant: those that are known for longer would miss what the others
            have.
    """
    found = incidents_by_cluster(histories, topics, up_to)
    return sorted((each for _, some in found for each in some), key=in_order)


def incidents_by_cluster(
    histories: Iterable[History],
    topics: Collection[str] | None = None,
    up_to: Mapping[str, int] | None = None,
) -> list[tuple[tuple[str, ...], list[FoundIncident]]]:
    """The name servers of each cluster, sorted, and its incidents, in order of their time.

    Shadows do not count: no client asks them, so a broker that only a shadow still has is gone.

    Args:
        histories: see `incidents`.
        topics: see `incidents`.
        up_to: see `incidents`.
    """
    of_each = {history.namesrv: history for history in histories if not is_shadow(history.namesrv)}
    addrs = {namesrv: set(_recent_addrs(history)) for namesrv, history in of_each.items()}
    labels = {namesrv: history.cluster_label for namesrv, history in of_each.items()}
    clusters = [tuple(sorted(each)) for each in dict.fromkeys(namesrv_clusters(addrs, labels).values())]
    return [
        (cluster, incidents_of_cluster([of_each[namesrv] for namesrv in cluster], topics, up_to))
        for cluster in clusters
    ]


def incidents_of_cluster(
    histories: Iterable[History],
    topics: Collection[str] | None = None,
    up_to: Mapping[str, int] | None = None,
) -> list[FoundIncident]:
    """The incidents of one cluster of name servers, in order of their time.

    Args:
        histories: one for each name server.
        topics: see `incidents`.
        up_to: see `incidents`.
    """
    ends = {} if up_to is None else up_to
    found = (facts_of(history, topics, ends.get(history.namesrv)) for history in histories)
    every = [facts for facts in found if facts is not None]
    return sorted(_incidents_of(every), key=in_order) if every else []


def in_order(each: FoundIncident) -> tuple[int, str, str, str]:
    """Sorts incidents by their time."""
    return each.from_ts, each.kind, each.cluster or "", each.subject


def _recent_addrs(history: History) -> Iterator[str]:
    """Addresses of the brokers that a name server had not long before its last record."""
    last = history.knows_up_to or 0
    for key in history.keys(LiveKey):
        until = history.versions(key)[-1].valid_to
        if until is None or last < until + SHARED_MS:
            yield key.broker_addr


def _incidents_of(every: Sequence[NamesrvFacts]) -> Iterator[FoundIncident]:
    """The incidents of one cluster of name servers, without order."""
    horizon = max(facts.up_to for facts in every)
    least_cluster, last_cluster = _clusters_of_names(every)
    broken = failures(every, broker_outages(every, horizon), last_cluster, horizon)
    outages = topic_outages(every, least_cluster, horizon)
    explained = explained_outages(every, outages, broken, last_cluster)
    costs: _Costs = defaultdict(list)
    for each in explained:
        if each.failure is not None:
            costs[each.failure].append(_TopicCost(each.outage.topic, each.outage.since, each.outage.until))
    minutes: _Minutes = defaultdict(list)
    for facts in every:
        for minute in (each for each in facts.minutes if each.topic):
            minutes[minute.topic].append((facts.namesrv, minute))
    for some in minutes.values():
        some.sort(key=_minute_of)
    found = [
        *_of_failures(broken),
        *_of_topics(every, explained, costs, horizon),
        *_of_deletions(asked_deletions(every, minutes, last_cluster, horizon), costs),
    ]
    for id_, incident in found:
        _add_cost(incident, costs.get(id_, ()), minutes, horizon)
        if incident.to_ts is not None and incident.to_ts >= horizon:
            incident.to_ts = incident.to_window_ms = None
        yield incident


def _clusters_of_names(every: Sequence[NamesrvFacts]) -> tuple[dict[str, str], dict[str, str]]:
    """The cluster of each broker name: the first by name, which gold's states have, and the last in time."""
    least: dict[str, str] = {}
    last: dict[str, tuple[int, str]] = {}
    for name, cluster, since in (group for facts in every for group in facts.groups):
        least[name] = min(cluster, least.get(name, cluster))
        last[name] = max((since, cluster), last.get(name, (since, cluster)))
    return least, {name: cluster for name, (_, cluster) in last.items()}


_Ended = dict[tuple[str, str, str | None], list[TopicPeriod]]
"""Topic, broker name and cause -> the rows that ended so."""
_Found = Iterator[tuple[IncidentId, FoundIncident]]


def _of_failures(broken: Iterable[IncidentPart]) -> _Found:
    of_id: dict[IncidentId, list[IncidentPart]] = defaultdict(list)
    for each in broken:
        of_id[each.id].append(each)
    for id_, parts in of_id.items():
        brokers = {each.broker for each in parts if each.broker is not None}
        is_mass = id_.kind is IncidentKind.BROKER_AWAY and len(brokers) >= MASS_BROKERS
        since = min(each.since for each in parts)
        to = max(each.to for each in parts)
        yield (
            id_,
            FoundIncident(
                kind=IncidentKind.MASS_DISCONNECT if is_mass else id_.kind,
                cluster=id_.cluster,
                subject=min(each.subject for each in parts),
                from_ts=since,
                to_ts=to,
                cause=_least(each.cause for each in parts),
                peer=_least(each.peer for each in parts),
                brokers=len(brokers),
                broker_names=_sorted(each.broker_name for each in parts),
                broker_ids=_ids_by_name(parts),
                topics=0,
                first_topic=None,
                name_servers=_sorted(each.namesrv for each in parts),
                is_forgotten=any(each.is_forgotten for each in parts),
                closed_by=_least(each.closed_by for each in parts if each.cause == "channel_closed"),
                from_window_ms=_window(since, ((each.since, each.window_ms) for each in parts)),
                to_window_ms=_window_of_end(to, ((each.to, each.to_window_ms) for each in parts)),
            ),
        )


def _ids_by_name(parts: Iterable[IncidentPart]) -> list[list[int]]:
    """The ids of the brokers that went, in the order of their names."""
    ids: dict[str, set[int]] = defaultdict(set)
    for each in parts:
        if each.broker_name is not None and each.broker_id is not None:
            ids[each.broker_name].add(each.broker_id)
    return [sorted(ids[name]) for name in sorted(ids)]


def _of_topics(
    every: Sequence[NamesrvFacts], explained: Iterable[ExplainedOutage], costs: _Costs, horizon: int
) -> _Found:
    """Topics of which only the row changed."""
    # A slave that registers before its master brings topics that can't be written to for a moment.
    changed = [
        each
        for each in explained
        if each.failure is None
        and (
            each.was_writable
            or each.outage.until - each.outage.since > TOGETHER_MS
            or each.outage.until >= horizon
        )
    ]
    of_id: dict[IncidentId, list[ExplainedOutage]] = defaultdict(list)
    for each, island in islands(changed, _changed_key, _changed_order):
        id_ = IncidentId(IncidentKind.TOPIC_UNWRITABLE, each.outage.cluster, each.cause or "", island)
        of_id[id_].append(each)
        costs[id_].append(_TopicCost(each.outage.topic, each.outage.since, each.outage.until))
    rows: _Ended = defaultdict(list)
    wanted = {each.outage.topic for each in changed}
    for period in (period for facts in every for period in facts.topics if period.topic in wanted):
        rows[period.topic, period.broker_name, period.to_cause].append(period)
    for some_rows in rows.values():
        some_rows.sort(key=_end_of)
    ends = _ends_of_outages(every, changed)
    for id_, some in of_id.items():
        since = min(each.outage.since for each in some)
        to = max(each.outage.until for each in some)
        yield (
            id_,
            FoundIncident(
                kind=id_.kind,
                cluster=id_.cluster,
                subject=min(each.outage.topic for each in some),
                from_ts=since,
                to_ts=to,
                cause=_least(each.cause for each in some),
                peer=_least(each.peer for each in some),
                brokers=len({each.broker_name for each in some} - {None}),
                broker_names=_sorted(each.broker_name for each in some),
                topics=0,
                first_topic=None,
                topic_names=_sorted(each.outage.topic for each in some)[:TOPIC_NAMES],
                name_servers=_sorted(name for each in some for name in _changed_at(each, rows)),
                from_window_ms=_window(since, ((each.outage.since, each.window_ms) for each in some)),
                to_window_ms=_window_of_end(
                    to,
                    ((each.outage.until, ends[each.outage.topic, each.outage.until]) for each in some),
                ),
            ),
        )


def _changed_key(each: ExplainedOutage) -> tuple[str, str]:
    return each.outage.cluster, each.cause or ""


def _changed_order(each: ExplainedOutage) -> tuple[int, str]:
    return each.outage.since, each.outage.topic


def _changed_at(each: ExplainedOutage, rows: _Ended) -> set[str | None]:
    """The name servers with the same change, at some a moment before."""
    since = each.outage.since
    if each.broker_name is None or each.cause is None:
        return {each.namesrv}
    same = rows.get((each.outage.topic, each.broker_name, each.cause), [])
    first = bisect_left(same, since - TOGETHER_MS, key=_end_of)
    return {row.namesrv for row in same[first : bisect_right(same, since, key=_end_of)]} or {each.namesrv}


def _end_of(row: TopicPeriod) -> int:
    return row.to


def _of_deletions(deletions: Iterable[Deletion], costs: _Costs) -> _Found:
    of_id: dict[IncidentId, list[Deletion]] = defaultdict(list)
    for each, island in islands(
        deletions, lambda each: (each.cluster, each.cause or ""), lambda each: (each.since, each.topic)
    ):
        id_ = IncidentId(IncidentKind.TOPIC_DELETED, each.cluster, each.cause or "", island)
        of_id[id_].append(each)
        costs[id_].append(_TopicCost(each.topic, each.since, each.to, is_lost=False))
    for id_, some in of_id.items():
        since = min(each.since for each in some)
        topics = {each.topic for each in some}
        broker_names = sorted({name for each in some for name, _ in each.rows})
        yield (
            id_,
            FoundIncident(
                kind=id_.kind,
                cluster=id_.cluster,
                subject=min(topics),
                from_ts=since,
                to_ts=max(each.to for each in some),
                cause=_least(each.cause for each in some),
                peer=_least(each.peer for each in some),
                brokers=len(broker_names),
                broker_names=broker_names,
                topics=len(topics),
                first_topic=min(topics),
                topic_names=sorted(topics)[:TOPIC_NAMES],
                name_servers=sorted({namesrv for each in some for _, namesrv in each.rows}),
                is_forgotten=any(each.is_forgotten for each in some),
                from_window_ms=_window(since, ((each.since, each.window_ms) for each in some)),
            ),
        )


def _add_cost(
    incident: FoundIncident,
    costs: Sequence[_TopicCost],
    minutes: _Minutes,
    horizon: int,
) -> None:
    lost = [each for each in costs if each.is_lost]
    if lost:
        incident.topics = len({each.topic for each in lost})
        incident.first_topic = min(each.topic for each in lost)
        incident.topic_ms = sum(min(each.to, horizon) - each.since for each in lost)
    asked = {
        (namesrv, minute.boot, minute.seq): minute
        for each in costs
        for namesrv, minute in _between(minutes.get(each.topic, ()), each.since, each.to)
    }
    incident.lookups = sum(minute.count for minute in asked.values())
    incident.languages = sorted({minute.language for minute in asked.values() if minute.language})


def _between(
    minutes: Sequence[tuple[str, UnknownTopicMinute]], since: int, to: int
) -> Sequence[tuple[str, UnknownTopicMinute]]:
    """The minutes of a time; `minutes` are in order."""
    first = bisect_right(minutes, since - _MINUTE_MS, key=_minute_of)
    return minutes[first : bisect_left(minutes, to, key=_minute_of)]


def _minute_of(each: tuple[str, UnknownTopicMinute]) -> int:
    return each[1].minute


def _least(values: Iterable[str | None]) -> str | None:
    return min((each for each in values if each is not None), default=None)


def _sorted(values: Iterable[str | None]) -> list[str]:
    return sorted({each for each in values if each is not None})


def _ends_of_outages(
    every: Sequence[NamesrvFacts], changed: Iterable[ExplainedOutage]
) -> Mapping[tuple[str, int], int]:
    """Topic and end of an outage -> longest window of the changes of the topic and of its masters then."""
    wanted: dict[str, list[int]] = defaultdict(list)
    for until, topic in sorted({(each.outage.until, each.outage.topic) for each in changed}):
        wanted[topic].append(until)
    masters: dict[tuple[str, str, int], int] = {}
    for session in (each for facts in every for each in facts.sessions):
        if session.broker_id == MASTER_ID and session.from_window_ms:
            masters[session.namesrv, session.broker_name, session.valid_from] = session.from_window_ms
    found: dict[tuple[str, int], int] = defaultdict(int)
    for row in (each for facts in every for each in facts.topics):
        ends = wanted.get(row.topic, ())
        for at in ends[bisect_left(ends, row.valid_from) : bisect_right(ends, row.to)]:
            began = row.from_window_ms if row.valid_from == at else 0
            ended = row.to_window_ms if row.to == at else 0
            master = masters.get((row.namesrv, row.broker_name, at), 0)
            found[row.topic, at] = max(found[row.topic, at], began, ended, master)
    return found


def _window(since: int, of_each: Iterable[tuple[int, int]]) -> int | None:
    """How long before its start an incident may have begun."""
    return since - min(at - window_ms for at, window_ms in of_each) or None


def _window_of_end(to: int, of_each: Iterable[tuple[int, int]]) -> int | None:
    """How long before its end an incident may have ended."""
    return to - max(at - window_ms for at, window_ms in of_each) or None
