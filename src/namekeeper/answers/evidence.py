"""The evidence about a topic at one name server: rows, each with the time range in which it was valid.

A history about the topic gives the evidence. The fields have the names of the columns of the pipeline's
histories. Times are effective times in wall ms; `valid_to` is not included, None is open.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from namekeeper.access.rules import AccessMode
from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey, TopicKey, ValidPeriod
from namekeeper.journal.contract.activity import Access, UnknownTopicMinute
from namekeeper.journal.contract.record import BrokerLive, BrokerNameRemovedRecord, TopicQueuesRow
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.perm import Perm

__all__ = [
    "DAY_MS",
    "FOREVER",
    "HOUR_MS",
    "BrokerSession",
    "Evidence",
    "KnownPeriod",
    "Lookups",
    "RefusedRequest",
    "TopicRoute",
    "ValidRow",
    "evidence_of",
    "route_values",
    "session_of",
    "session_values",
]

R = TypeVar("R", "TopicRoute", "BrokerSession")

DAY_MS = 86_400_000
"""Time before an instant that is read first. If that does not show the cause, more is read."""
HOUR_MS = 3_600_000
"""Time before an instant whose failed lookups and refused requests are a part of the answer."""
FOREVER = 1 << 62
"""Wall ms: the end of a row that is still valid."""


class ValidRow(Struct, frozen=True, kw_only=True):
    """A row, and the time range in which it was valid."""

    valid_from: int
    valid_to: int | None = None
    from_cause: str | None = None
    """The request or rule that made the row; None: it was first seen in a checkpoint."""
    from_peer: str | None = None
    ended_by: str | None = None
    """gone, changed, checkpoint (it had no such row), unknown (records were lost), stopped; None: open."""
    to_cause: str | None = None
    to_peer: str | None = None
    from_window_ms: int = 0
    """The row began at most so long before `valid_from`: an observer recorded that; 0: exactly then."""
    to_window_ms: int = 0

    @property
    def to(self) -> int:
        """The end, not included; far in the future while there is none."""
        return FOREVER if self.valid_to is None else self.valid_to

    def is_valid(self, at: int) -> bool:
        """Whether the row was valid at a time."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    def has_ended(self, at: int) -> bool:
        """Whether the row had ended at a time."""
        return self.valid_to is not None and self.valid_to <= at


class TopicRoute(ValidRow, frozen=True, kw_only=True):
    """The effective queues of the topic on one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0
    reason: str | None = None
    """broker_name_removed if all topics of the broker name were removed."""


class BrokerSession(ValidRow, frozen=True, kw_only=True):
    """A live registration."""

    cluster: str
    broker_addr: str
    broker_name: str
    broker_id: int
    boot: int
    gen: int
    reason: str | None = None
    """If gone: unregister_broker, expired, channel_closed, replaced or stale_registration."""
    idle_ms: int | None = None
    """If gone: ms since it was last refreshed."""
    closed_by: str | None = None
    """If its connection closed: who closed it, a value of `ClosedBy`."""

    @property
    def is_restored(self) -> bool:
        """Whether the name server restored it at its start, and its broker has not registered again since."""
        return self.from_cause == "restored"


class KnownPeriod(Struct, frozen=True, kw_only=True):
    """A period with one known state of a name server; before the first one nothing is known."""

    valid_from: int
    valid_to: int | None = None
    state: str
    """up, unknown (records were lost) or stopped."""
    boot: int | None = None
    """If up."""
    is_observed: bool = False
    """If up: whether an observer recorded it."""
    restart: str | None = None
    """If observed: whether the name server restarted before: seen, possible; None: nothing was before."""


class Lookups(Struct, frozen=True, kw_only=True):
    """Lookups of the topic that found no route, in one minute."""

    minute: int
    language: str | None = None
    client_version: int | None = None
    count: int


class RefusedRequest(Struct, frozen=True, kw_only=True):
    """A request that access rules refused; or several that are counted together, without their names."""

    at: int
    """Wall ms."""
    code: int
    about: list[str] | None = None
    """The names in the request, such as `topics=T`."""
    peer: str | None = None
    user: str | None = None
    """The user whose signature it has."""
    rule: str | None = None
    """None: no rule covers it."""
    count: int


class Evidence(Struct, frozen=True, kw_only=True, dict=True):
    """The evidence of one name server's records about one topic."""

    namesrv: str
    topic: str
    known_from: int | None
    """Start of the first complete checkpoint that was read, or `dropped_until`; None if there is none."""
    knows_up_to: int | None
    """Time of the last record."""
    periods: list[KnownPeriod]
    routes: list[TopicRoute]
    sessions: list[BrokerSession]
    """Sessions of all brokers."""
    lookups: list[Lookups]
    refused: list[RefusedRequest] = []
    """Refused requests of any kind."""
    only_its_brokers: bool = False
    """Whether sessions of brokers that never had the topic are left out, for lack of memory."""
    dropped_until: int | None = None
    """Changes up to this time, wall ms, are left out for lack of memory; None: none are."""
    cluster_label: str = ""
    """Label of the cluster of name servers; empty: none."""

    @cached_property
    def _routes_by_name(self) -> Mapping[str, Sequence[TopicRoute]]:
        return _by_name(self.routes)

    @cached_property
    def _sessions_by_name(self) -> Mapping[str, Sequence[BrokerSession]]:
        return _by_name(self.sessions)

    def routes_of(self, broker_name: str) -> Sequence[TopicRoute]:
        """The rows on a broker name; thousands of broker names may have the topic."""
        return self._routes_by_name.get(broker_name, ())

    def sessions_of(self, broker_name: str) -> Sequence[BrokerSession]:
        """The sessions of a broker name, in their order."""
        return self._sessions_by_name.get(broker_name, ())

    def period_at(self, at: int) -> KnownPeriod | None:
        """The period of a time; None before the first complete checkpoint."""
        return next(
            (
                period
                for period in self.periods
                if period.valid_from <= at and (period.valid_to is None or at < period.valid_to)
            ),
            None,
        )

    def routes_at(self, at: int) -> list[TopicRoute]:
        """Rows that were valid at a time."""
        return [route for route in self.routes if route.is_valid(at)]

    def shows_cause(self, at: int) -> bool:
        """Whether the topic had a row up to a time, and rows explain a lack of write permission or master."""
        rows = self.routes_at(at)
        unexplained = [r for r in rows if r.from_cause in {None, "restored"} and not r.perm & Perm.WRITE]
        masters = {s.broker_name for s in self.sessions if s.broker_id == MASTER_ID and s.valid_from <= at}
        has_masters = all(row.broker_name in masters for row in rows)
        return any(route.valid_from <= at for route in self.routes) and not unexplained and has_masters

    def needed_from(self, at: int) -> int:
        """The time from which rows must be read for an answer about `at`, wall ms."""
        ended = max((route.valid_to or 0 for route in self.routes if route.has_ended(at)), default=at)
        return outage_from(at if self.routes_at(at) else ended, at)

    def window_at(self, at: int) -> int:
        """The longest window of the changes at a time; 0: they are exact, or there are none."""
        rows: list[ValidRow] = [*self.routes, *self.sessions]
        began = [row.from_window_ms for row in rows if row.valid_from == at]
        return max([*began, *(row.to_window_ms for row in rows if row.valid_to == at)], default=0)

    def unknown_until(self, at: int) -> int | None:
        """The end of the period around a time in which lost records leave the state unknown; else None."""
        period = self.period_at(at)
        return period.valid_to if period is not None and period.state == "unknown" else None

    def gap_before(self, period: KnownPeriod) -> KnownPeriod | None:
        """The unknown time between the period of observation before and this one; None if there is none."""
        index = self.periods.index(period)
        if not period.is_observed or index < 2:
            return None
        gap, before = self.periods[index - 1], self.periods[index - 2]
        return gap if gap.state == "unknown" and before.boot not in {None, period.boot} else None

    def began(self, boot: int) -> int:
        """The start of a boot, wall ms.

        The number of a boot is the wall clock at its start, or more if the clock was put back meanwhile.
        """
        return min(boot, *(period.valid_from for period in self.periods if period.boot == boot))


def outage_from(ended: int, at: int) -> int:
    """The start of an outage, wall ms: a member of a broker group that went earlier does not belong to it.

    Args:
        ended: when the last row of the topic ended.
        at: the time in question: a history is read from a day before it, or from a day before an earlier end.
    """
    return (at if ended > at - DAY_MS else ended) - DAY_MS


def evidence_of(history: History) -> Evidence:
    """The evidence that a history about a topic gives."""
    topic = history.about or ""
    coverage = history.coverage
    periods = history.valid_periods()
    return Evidence(
        namesrv=history.namesrv,
        topic=topic,
        known_from=history.knows_from,
        knows_up_to=coverage.knows_up_to,
        periods=_periods(history),
        routes=[
            TopicRoute(**route_values(key, period))
            for key, period in periods
            if isinstance(key, TopicKey) and key.topic == topic
        ],
        sessions=_sessions((key, period) for key, period in periods if isinstance(key, LiveKey)),
        lookups=[
            _lookups(record)
            for record in history.activity
            if isinstance(record, UnknownTopicMinute) and record.topic == topic
        ],
        refused=[
            _refused(record)
            for record in history.activity
            if isinstance(record, Access) and not record.allowed and record.mode == AccessMode.ENFORCE
        ],
        dropped_until=history.dropped_until,
        cluster_label=history.cluster_label,
    )


def _sessions(periods: Iterable[tuple[LiveKey, ValidPeriod[BrokerLive]]]) -> list[BrokerSession]:
    """The sessions. A row with another data version or address continues the session of the row before it."""
    found: list[ValidPeriod[BrokerLive]] = []
    newest: dict[LiveKey, int] = {}
    for key, period in periods:
        index = newest.get(key)
        if index is not None and _goes_on(found[index], period):
            found[index] = found[index].lasting_as(period)
        else:
            newest[key] = len(found)
            found.append(period)
    return [BrokerSession(**session_values(each)) for each in found]


def _goes_on(before: ValidPeriod[BrokerLive], period: ValidPeriod[BrokerLive]) -> bool:
    """Whether a row is of the session of the row before it."""
    return (
        before.until is period.since
        and before.ended_by == "changed"
        and session_of(before) == session_of(period)
    )


def session_of(period: ValidPeriod[BrokerLive]) -> tuple[str, int, int, int]:
    """The fields that name the session of a live registration at its address."""
    row = period.row
    return row.broker_name, row.broker_id, period.since.boot, row.gen


def session_values(period: ValidPeriod[BrokerLive]) -> dict[str, Any]:
    """The fields of a `BrokerSession`."""
    row, end = period.row, period.ending
    values = {
        **_values(period), "cluster": row.cluster, "broker_addr": row.broker_addr,
        "broker_name": row.broker_name, "broker_id": row.broker_id, "boot": period.since.boot, "gen": row.gen,
    }  # fmt: skip
    if isinstance(end, BrokerLive):
        values |= {"reason": end.reason, "idle_ms": end.idle_ms, "closed_by": end.closed_by or None}
    return values


def route_values(key: TopicKey, period: ValidPeriod[TopicQueuesRow]) -> dict[str, Any]:
    """The fields of a `TopicRoute`."""
    row = period.row
    is_removed = isinstance(period.ending, BrokerNameRemovedRecord)
    return {
        **_values(period), "broker_name": key.broker_name, "read_queue_nums": row.read_queue_nums,
        "write_queue_nums": row.write_queue_nums, "perm": row.perm, "topic_sys_flag": row.topic_sys_flag,
        "reason": "broker_name_removed" if is_removed else None,
    }  # fmt: skip


def _values(period: ValidPeriod[Any]) -> dict[str, Any]:
    since, until = period.since, period.until
    values = {
        "valid_from": since.at, "from_cause": since.cause or None, "from_peer": since.peer or None,
        "from_window_ms": since.window_ms,
    }  # fmt: skip
    if until is not None:
        values |= {
            "valid_to": until.at, "ended_by": period.ended_by, "to_cause": until.cause or None,
            "to_peer": until.peer or None, "to_window_ms": until.window_ms,
        }  # fmt: skip
    return values


def _lookups(record: UnknownTopicMinute) -> Lookups:
    return Lookups(
        minute=record.minute,
        language=record.language or None,
        client_version=record.client_version or None,
        count=record.count,
    )


def _refused(record: Access) -> RefusedRequest:
    return RefusedRequest(
        at=record.ts,
        code=record.code,
        about=record.about,
        peer=record.peer or None,
        user=record.user or None,
        rule=record.rule or None,
        count=record.count,
    )


def _by_name(rows: Iterable[R]) -> Mapping[str, Sequence[R]]:
    found: dict[str, list[R]] = {}
    for row in rows:
        found.setdefault(row.broker_name, []).append(row)
    return found


def _periods(history: History) -> list[KnownPeriod]:
    boots = {boot.boot: boot for boot in history.coverage.boots}
    begin = history.knows_from
    found: list[KnownPeriod] = []
    for each in () if begin is None else history.timeline.periods(begin):
        boot = boots.get(each.boot)
        found.append(
            KnownPeriod(
                valid_from=each.since,
                valid_to=each.until,
                state=each.state.value,
                boot=None if boot is None else boot.boot,
                is_observed=boot is not None and boot.is_observed,
                restart=None if boot is None else boot.restart or None,
            )
        )
    return found
