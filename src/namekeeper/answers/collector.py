"""Collects the evidence about one topic from the steps of a name server."""

from collections.abc import Callable, Container, Hashable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from namekeeper.access.rules import AccessMode
from namekeeper.answers.evidence import (
    BrokerSession,
    Evidence,
    KnownPeriod,
    Lookups,
    RefusedRequest,
    TopicRoute,
)
from namekeeper.journal.contract.record import (
    Access,
    BrokerLive,
    BrokerNameRemovedRecord,
    Record,
    TopicQueues,
    UnknownTopicMinute,
)
from namekeeper.journal.reading.coverage import Coverage, EffectiveTime, TimeRange
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Step, Stopped

__all__ = ["EvidenceCollector"]

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class _RowEnd(NamedTuple):
    """Why a row ended."""

    ended_by: str
    cause: str = ""
    peer: str = ""
    more: Mapping[str, Any] = {}


class _RowPeriod(Struct, eq=False):
    values: dict[str, Any]
    since: EffectiveTime
    cause: str
    peer: str
    until: EffectiveTime | None = None
    end: _RowEnd | None = None


class _RowHistory(Generic[K]):
    """All rows of one kind; open rows by key."""

    def __init__(self) -> None:
        self.all: list[_RowPeriod] = []
        self._open: dict[K, _RowPeriod] = {}

    def set(
        self, key: K, values: dict[str, Any], at: EffectiveTime, *, cause: str = "", peer: str = ""
    ) -> None:
        """Set the values of a row; no effect if it has them already."""
        row = self._open.get(key)
        if row is not None and row.values == values:
            return
        if row is not None:
            self.end(key, at, _RowEnd("changed", cause, peer))
        row = self._open[key] = _RowPeriod(values, at, cause, peer)
        self.all.append(row)

    def end(self, key: K, at: EffectiveTime, end: _RowEnd) -> None:
        """End a row; no effect if there is none."""
        row = self._open.pop(key, None)
        if row is not None:
            row.until, row.end = at, end

    def end_others(self, kept: Container[K], at: EffectiveTime, end: _RowEnd) -> None:
        """End the rows with other keys."""
        for key in [key for key in self._open if key not in kept]:
            self.end(key, at, end)

    def result(self, kind: Callable[..., R]) -> list[R]:
        """All rows, also those that ended when they began: a row that was lost at once did exist."""
        return [
            kind(
                **row.values,
                valid_from=row.since.ms,
                valid_to=None if row.until is None else row.until.ms,
                from_cause=row.cause or None,
                from_peer=row.peer or None,
                **({} if row.end is None else _ending(row.end)),
            )
            for row in self.all
        ]


class EvidenceCollector:
    """Follows the steps of one name server for one topic."""

    def __init__(self, namesrv: str, topic: str) -> None:
        self.coverage = Coverage()
        self._namesrv = namesrv
        self._topic = topic
        self._routes: _RowHistory[str] = _RowHistory()
        self._sessions: _RowHistory[tuple[str, str]] = _RowHistory()
        self._lookups: list[Lookups] = []
        self._refused: list[RefusedRequest] = []

    def take(self, step: Step) -> None:
        """Follow one step."""
        self.coverage.take(step)
        if type(step) is Seen:
            self._count(step)
        elif isinstance(step, Changed):
            at = self.coverage.time.at(step.ts)
            for record in step.records:
                self._apply(record, at)
        elif isinstance(step, CheckpointApplied):
            self._compare(step, self.coverage.time.at(step.ts))
        else:
            self._break(step)

    def result(self) -> Evidence:
        """The evidence after the last step."""
        coverage = self.coverage
        return Evidence(
            namesrv=self._namesrv,
            topic=self._topic,
            known_from=coverage.knows_from,
            knows_up_to=coverage.knows_up_to,
            periods=_periods(coverage),
            routes=self._routes.result(TopicRoute),
            sessions=self._sessions.result(BrokerSession),
            lookups=self._lookups,
            refused=self._refused,
        )

    def _apply(self, record: Record, at: EffectiveTime) -> None:
        if isinstance(record, TopicQueues):
            self._apply_rows(record, at)
        elif isinstance(record, BrokerNameRemovedRecord):
            more = {"reason": "broker_name_removed"}
            self._routes.end(record.broker_name, at, _RowEnd("gone", record.cause, record.peer, more))
        elif isinstance(record, BrokerLive):
            self._apply_live(record, at)

    def _apply_rows(self, record: TopicQueues, at: EffectiveTime) -> None:
        for topic, *queues in record.rows:
            if topic != self._topic:
                continue
            if queues:
                values = _route_values(record.broker_name, queues)
                self._routes.set(record.broker_name, values, at, cause=record.cause, peer=record.peer)
            else:
                self._routes.end(record.broker_name, at, _RowEnd("gone", record.cause, record.peer))

    def _apply_live(self, record: BrokerLive, at: EffectiveTime) -> None:
        key = (record.cluster, record.broker_addr)
        if record.gone:
            more = {
                "reason": record.reason, "idle_ms": record.idle_ms, "closed_by": record.closed_by or None,
            }  # fmt: skip
            self._sessions.end(key, at, _RowEnd("gone", record.cause, record.peer, more))
            return
        values = _session_values(record.boot, record)
        self._sessions.set(key, values, at, cause=record.cause, peer=record.peer)

    def _compare(self, step: CheckpointApplied, at: EffectiveTime) -> None:
        """Replace the known rows by those of a checkpoint."""
        tables = step.state.tables
        rows = dict(tables.rows_of(self._topic))
        live = {live.key: live for live in tables.broker_live_table}
        missing = _RowEnd("checkpoint")
        self._routes.end_others(rows, at, missing)
        self._sessions.end_others(live, at, missing)
        for name, row in rows.items():
            spec = row.effective
            queues = [spec.read_queue_nums, spec.write_queue_nums, spec.perm, spec.topic_sys_flag]
            self._routes.set(name, _route_values(name, queues), at)
        for key, info in live.items():
            values = {
                "cluster": info.cluster_name,
                "broker_addr": info.broker_addr,
                "broker_name": info.broker_name,
                "broker_id": info.broker_id,
                "boot": step.boot,
                "gen": info.gen,
            }
            self._sessions.set(key, values, at)

    def _break(self, step: Step) -> None:
        """End all rows at a loss, a stop or a start."""
        at = self.coverage.time.at(step.ts)
        end = _RowEnd("unknown") if isinstance(step, Lost) else _RowEnd("stopped")
        assert isinstance(step, Lost | Stopped | Began)
        self._routes.end_others((), at, end)
        self._sessions.end_others((), at, end)

    def _count(self, step: Seen) -> None:
        record = step.record
        if isinstance(record, Access) and not record.allowed and record.mode == AccessMode.ENFORCE:
            self._refused.append(_refused(record))
        if isinstance(record, UnknownTopicMinute) and record.topic == self._topic:
            self._lookups.append(
                Lookups(
                    minute=record.minute,
                    language=record.language or None,
                    client_version=record.client_version or None,
                    count=record.count,
                )
            )


def _route_values(broker_name: str, queues: list[int]) -> dict[str, Any]:
    read, write, perm, sys_flag = queues
    return {
        "broker_name": broker_name,
        "read_queue_nums": read,
        "write_queue_nums": write,
        "perm": perm,
        "topic_sys_flag": sys_flag,
    }


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


def _session_values(boot: int, record: BrokerLive) -> dict[str, Any]:
    return {
        "cluster": record.cluster,
        "broker_addr": record.broker_addr,
        "broker_name": record.broker_name,
        "broker_id": record.broker_id,
        "boot": boot,
        "gen": record.gen,
    }


def _ending(end: _RowEnd) -> dict[str, Any]:
    return {"ended_by": end.ended_by, "to_cause": end.cause or None, "to_peer": end.peer or None, **end.more}


def _periods(coverage: Coverage) -> list[KnownPeriod]:
    """Boots, stops and losses as periods that do not overlap."""
    begin = coverage.knows_from
    if begin is None:
        return []
    unknown = coverage.unknown
    boots = coverage.boots
    known: list[KnownPeriod] = []
    for boot, following in zip(boots, [*boots[1:], None], strict=True):
        known += _without(unknown, begin, TimeRange(boot.since, boot.until), "up", boot.boot)
        if boot.is_stopped and boot.until is not None:
            until = None if following is None else following.since
            known += _without(unknown, begin, TimeRange(boot.until, until), "stopped", None)
    lost = [KnownPeriod(valid_from=one.since, valid_to=one.until, state="unknown") for one in unknown]
    return sorted([*known, *lost], key=lambda period: period.valid_from)


def _without(
    unknown: list[TimeRange], begin: int, time_range: TimeRange, state: str, boot: int | None
) -> list[KnownPeriod]:
    """The parts of a time range after `begin` and outside of the unknown ranges."""
    found = []
    since = max(begin, time_range.since)
    for lost in unknown:
        if lost.until is not None and lost.until <= since:
            continue
        if time_range.until is not None and lost.since >= time_range.until:
            break
        if since < lost.since:
            found.append(KnownPeriod(valid_from=since, valid_to=lost.since, state=state, boot=boot))
        if lost.until is None:
            return found
        since = lost.until
    if time_range.until is None or since < time_range.until:
        found.append(KnownPeriod(valid_from=since, valid_to=time_range.until, state=state, boot=boot))
    return found
