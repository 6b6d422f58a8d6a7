"""Failures, as the rows that broke show them: gold's `incident_part`, without disagreements.

Those of one kind that began at nearly the same time in a cluster are one incident. Each time that a name
server is down is one of its own.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar

from msgspec import Struct

from namekeeper.answers.evidence import FOREVER
from namekeeper.answers.incidents.facts import NamesrvFacts, RegistrationPeriod
from namekeeper.answers.incidents.states import BrokerKey, BrokerOutage
from namekeeper.common.expected import TOGETHER_MS
from namekeeper.history.timeline import PeriodState
from namekeeper.route.events import Cause

__all__ = ["IncidentId", "IncidentKind", "IncidentPart", "Way", "failures", "islands"]

T = TypeVar("T")


class IncidentKind(StrEnum):
    """The values of column `kind`; gold lacks deviations."""

    BROKER_AWAY = "broker_away"
    MASS_DISCONNECT = "mass_disconnect"
    BROKER_UNREGISTERED = "broker_unregistered"
    PERMISSION_WIPED = "permission_wiped"
    TOPIC_UNWRITABLE = "topic_unwritable"
    TOPIC_DELETED = "topic_deleted"
    NAME_SERVER_DOWN = "name_server_down"
    DRIFT = "drift"
    DEVIATION = "deviation"


class Way(StrEnum):
    """The thing that a failure takes from topics."""

    SESSION = "session"
    PERMISSION = "permission"
    NAME_SERVER = "name server"


class IncidentId(NamedTuple):
    """Names the incident that a failure is a part of."""

    kind: IncidentKind
    cluster: str | None
    of_subject: str
    island: int


class IncidentPart(Struct):
    """One row that broke."""

    kind: IncidentKind
    cluster: str | None
    of_subject: str
    """Only failures with the same one are one incident."""
    way: Way
    who: str
    """Name of the session of a broker, of the broker name with a permission, or of the name server."""
    subject: str
    since: int
    to: int
    cause: str | None = None
    peer: str | None = None
    broker_name: str | None = None
    broker: str | None = None
    broker_id: int | None = None
    """For a broker that went, its id; 0 is a master."""
    namesrv: str | None = None
    is_forgotten: bool = False
    closed_by: str | None = None
    window_ms: int = 0
    to_window_ms: int = 0
    island: int = 0

    @property
    def id(self) -> IncidentId:
        """The incident that it is a part of."""
        return IncidentId(self.kind, self.cluster, self.of_subject, self.island)


def failures(
    every: Sequence[NamesrvFacts],
    outages: Iterable[BrokerOutage],
    last_cluster: Mapping[str, str],
    horizon: int,
) -> list[IncidentPart]:
    """All failures, with the incidents that they are parts of.

    Args:
        every: of all name servers.
        outages: of all brokers.
        last_cluster: broker name -> cluster name.
        horizon: the last instant that is known, wall ms.
    """
    found = [
        *_of_brokers(every, outages, horizon),
        *_of_permissions(every, last_cluster),
        *_of_name_servers(every),
    ]

    def key(one: IncidentPart) -> Hashable:
        return one.kind, one.cluster, one.of_subject

    for one, island in islands(found, key, lambda one: (one.since, one.subject)):
        one.island = island
    for number, one in enumerate(one for one in found if one.kind is IncidentKind.NAME_SERVER_DOWN):
        one.island = number
    return found


def islands(
    rows: Iterable[T], key: Callable[[T], Hashable], order: Callable[[T], tuple[int, str]]
) -> Iterator[tuple[T, int]]:
    """Rows with the number of their island, among those with the same key.

    Args:
        rows: in any order.
        key: rows with different keys are in different islands.
        order: begins with the time at which a row began, wall ms. Rows that began soon after each other are
            in one island.
    """
    of_key: dict[Hashable, list[T]] = defaultdict(list)
    for row in rows:
        of_key[key(row)].append(row)
    for some in of_key.values():
        island, last = 0, None
        for row in sorted(some, key=order):
            at, _ = order(row)
            island += last is None or at - last > TOGETHER_MS
            last = at
            yield row, island


class _End(Struct):
    """How the registrations of a broker ended at an instant."""

    causes: set[str]
    peers: set[str]
    closers: set[str]
    windows: set[int]


def _of_brokers(
    every: Sequence[NamesrvFacts], outages: Iterable[BrokerOutage], horizon: int
) -> Iterator[IncidentPart]:
    ends: dict[tuple[BrokerKey, int], _End] = {}
    begun: dict[tuple[BrokerKey, int], int] = defaultdict(int)
    """The longest window of the registrations that began at an instant."""
    for session in (each for facts in every for each in facts.sessions):
        if session.ended_by in {"gone", "changed"}:
            _add_end(ends, session)
        if session.from_window_ms:
            start = BrokerKey(session.cluster, session.broker_name, session.broker_id), session.valid_from
            begun[start] = max(begun[start], session.from_window_ms)
    for outage in outages:
        key = outage.key
        end = ends.get((key, outage.since))
        broker = f"{key.broker_name} {key.broker_id}"
        yield IncidentPart(
            IncidentKind.BROKER_UNREGISTERED if outage.is_unregistered else IncidentKind.BROKER_AWAY,
            key.cluster, "", Way.SESSION, broker, key.broker_name, outage.since, outage.until,
            cause=None if end is None else min(end.causes, default=None),
            peer=None if end is None else min(end.peers, default=None),
            broker_name=key.broker_name, broker=broker, broker_id=key.broker_id,
            is_forgotten=outage.is_last and outage.until < horizon,
            closed_by=None if end is None else min(end.closers, default=None),
            window_ms=0 if end is None else max(end.windows),
            to_window_ms=begun.get((key, outage.until), 0),
        )  # fmt: skip


def _add_end(ends: dict[tuple[BrokerKey, int], _End], session: RegistrationPeriod) -> None:
    key = BrokerKey(session.cluster, session.broker_name, session.broker_id)
    end = ends.setdefault((key, session.to), _End(set(), set(), set(), set()))
    end.causes.add(session.reason or session.ended_by or "")
    if session.to_peer is not None:
        end.peers.add(session.to_peer)
    if session.closed_by is not None:
        end.closers.add(session.closed_by)
    end.windows.add(session.to_window_ms)


def _of_permissions(every: Sequence[NamesrvFacts], last_cluster: Mapping[str, str]) -> Iterator[IncidentPart]:
    found: dict[tuple[str, str, int], IncidentPart] = {}
    for row in (each for facts in every for each in facts.topics):
        if row.from_cause != Cause.WIPE_WRITE_PERM:
            continue
        name = row.broker_name
        one = found.setdefault(
            (row.namesrv, name, row.valid_from),
            IncidentPart(
                IncidentKind.PERMISSION_WIPED, last_cluster.get(name), "", Way.PERMISSION, name, name,
                row.valid_from, row.to, cause=row.from_cause, peer=row.from_peer, broker_name=name,
                broker=name, namesrv=row.namesrv, window_ms=row.from_window_ms, to_window_ms=row.to_window_ms,
            ),
        )  # fmt: skip
        earliest = max(one.to - one.to_window_ms, row.to - row.to_window_ms)
        one.to = max(one.to, row.to)
        one.to_window_ms = one.to - earliest
        one.peer = min(filter(None, (one.peer, row.from_peer)), default=None)
        one.window_ms = max(one.window_ms, row.from_window_ms)
    yield from found.values()


def _of_name_servers(every: Sequence[NamesrvFacts]) -> Iterator[IncidentPart]:
    for facts in every:
        for period in facts.timeline:
            if period.state is PeriodState.STOPPED or period.is_crash:
                yield IncidentPart(
                    IncidentKind.NAME_SERVER_DOWN, None, facts.namesrv, Way.NAME_SERVER, facts.namesrv,
                    facts.namesrv, period.since, FOREVER if period.until is None else period.until,
                    cause="stopped" if period.state is PeriodState.STOPPED else "no_stop",
                    namesrv=facts.namesrv,
                )  # fmt: skip
