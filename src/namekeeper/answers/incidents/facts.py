"""The rows of one name server as far as its state was known: what incidents are computed from.

They are the rows of gold's tables `broker_session`, `topic_route` and `broker_group_history`.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from namekeeper.common.expected import WITNESS_AFTER_MS
from namekeeper.common.writable import is_writable
from namekeeper.history.history import History
from namekeeper.history.rows import AnyKey, GroupKey, HistoryEvent, LiveKey, RowVersion, TopicKey, What
from namekeeper.history.timeline import PeriodState, TimelinePeriod, UpPeriod
from namekeeper.journal.contract.record import (
    BrokerLive,
    BrokerNameRemovedRecord,
    TopicQueuesRow,
    UnknownTopicMinute,
)

__all__ = ["FOREVER", "NamesrvFacts", "RegistrationPeriod", "RowPeriod", "TopicPeriod", "facts_of"]

FOREVER = 1 << 62


class RowPeriod(Struct):
    """A row, and a period in which it was known to be valid."""

    namesrv: str
    boot: int
    since: int
    until: int | None
    """None: still valid."""
    cause: str | None
    """The cause of its start; None: a checkpoint found it so."""
    peer: str | None
    window_ms: int | None
    ended_by: str | None = None
    """gone, changed, checkpoint, unknown, stopped; None: still valid."""
    to_cause: str | None = None
    to_peer: str | None = None
    to_window_ms: int | None = None
    ending: Any = None
    """The record that says that it is gone, if that says more."""

    @property
    def to(self) -> int:
        """The end of the period; far in the future while there is none."""
        return FOREVER if self.until is None else self.until


class RegistrationPeriod(Struct):
    """A live registration."""

    row: RowPeriod
    cluster: str
    broker_addr: str
    broker_name: str
    broker_id: int

    @property
    def reason(self) -> str | None:
        """How it ended, as its record says."""
        ending = self.row.ending
        return (ending.reason or None) if isinstance(ending, BrokerLive) else None

    @property
    def closed_by(self) -> str | None:
        """The side that closed the connection."""
        ending = self.row.ending
        return (ending.closed_by or None) if isinstance(ending, BrokerLive) else None


class TopicPeriod(Struct):
    """The queues of a topic on a broker name."""

    row: RowPeriod
    topic: str
    broker_name: str
    queues: TopicQueuesRow

    @property
    def is_writable(self) -> bool:
        """Whether it can be written to, if there is a master."""
        return is_writable(self.queues.perm, self.queues.write_queue_nums, has_master=True)

    @property
    def reason(self) -> str | None:
        """broker_name_removed if it went with its broker name."""
        return "broker_name_removed" if isinstance(self.row.ending, BrokerNameRemovedRecord) else None


class NamesrvFacts(Struct):
    """The rows of one name server, and its periods."""

    namesrv: str
    up_to: int
    """The last instant that is known, wall ms."""
    timeline: Sequence[TimelinePeriod]
    up: Sequence[TimelinePeriod]
    """The periods in which it was up and its state known, in order, as far as is known."""
    sessions: Sequence[RegistrationPeriod]
    topics: Sequence[TopicPeriod]
    groups: Sequence[tuple[str, str, int]]
    """Broker name, cluster, and since when, wall ms."""
    minutes: Sequence[UnknownTopicMinute]
    witness_at_latest: dict[int, int]
    """Boot -> when it has heard every live broker, wall ms."""


def facts_of(
    history: History, topics: Collection[str] | None = None, up_to: int | None = None
) -> NamesrvFacts | None:
    """The facts of a name server; None: nothing is known.

    Args:
        history: of the name server.
        topics: those whose rows are needed; None: all.
        up_to: the last instant that counts, wall ms; None: the last that is known.
    """
    up_to = history.knows_up_to if up_to is None else up_to
    timeline = history.timeline.periods()
    if up_to is None or not timeline:
        return None
    known = history.timeline.known()
    sessions = [
        RegistrationPeriod(row, key.cluster, key.broker_addr, value.broker_name, value.broker_id)
        for key in history.keys(LiveKey)
        for value, row in _row_periods(history, key, known, _is_same_session)
    ]
    rows = [
        TopicPeriod(row, key.topic, key.broker_name, value)
        for topic in (history.topics() if topics is None else topics)
        for key in history.keys_of_topic(topic)
        if isinstance(key, TopicKey)
        for value, row in _row_periods(history, key, known, _is_equal)
    ]
    groups = [
        (key.broker_name, value.cluster, row.since)
        for key in history.keys(GroupKey)
        for value, row in _row_periods(history, key, known, _is_equal)
    ]
    return NamesrvFacts(
        history.namesrv,
        up_to,
        timeline,
        [*_up(timeline, up_to)],
        sessions,
        rows,
        groups,
        [each for each in history.activity if isinstance(each, UnknownTopicMinute)],
        {boot.boot: boot.since + WITNESS_AFTER_MS for boot in history.coverage.boots},
    )


def _up(timeline: Sequence[TimelinePeriod], up_to: int) -> Iterator[TimelinePeriod]:
    for period in timeline:
        if period.state is PeriodState.UP and period.since < up_to:
            until = up_to if period.until is None else min(period.until, up_to)
            yield TimelinePeriod(period.since, until, period.state, period.boot)


_IsSame = Callable[[Any, int, Any, int], bool]
"""Whether two rows, each with its boot, are one value."""


def _row_periods(
    history: History, key: AnyKey, known: Sequence[UpPeriod], is_same: _IsSame
) -> list[tuple[Any, RowPeriod]]:
    """The values of a row with the periods in which they are known; values that follow each other are one."""
    found: list[tuple[Any, RowPeriod]] = []
    for version, period in _by_period(history.all_versions(key), known):
        row = _within(history.namesrv, version, period)
        last = found[-1] if found else None
        if last is not None and last[1].until == row.since:
            if version.begun.number > period.begin:
                _end_by(last[1], row, is_over=_ends_within(version, period))
            if row.until != row.since and is_same(last[0], last[1].boot, version.row, row.boot):
                _go_on(last[1], row)
                continue
        if row.until is None or row.since < row.until:
            found.append((version.row, row))
    return found


def _by_period(
    versions: Sequence[RowVersion[Any]], known: Sequence[UpPeriod]
) -> Iterator[tuple[RowVersion[Any], UpPeriod]]:
    """The versions that were valid in each known period, in order."""
    for version in versions:
        ended = None if version.ended is None else version.ended.number
        first = bisect_right(known, version.begun.number, key=_end_of)
        for index in range(first, len(known)):
            period = known[index]
            if ended is not None and ended <= period.begin:
                break
            yield version, period


def _end_of(period: UpPeriod) -> int:
    return FOREVER if period.end is None else period.end


def _within(namesrv: str, version: RowVersion[Any], period: UpPeriod) -> RowPeriod:
    begun, ended = version.begun, version.ended
    row = RowPeriod(namesrv, period.boot, period.since, period.until, None, None, None)
    if begun.number > period.begin:
        row.since = begun.at
        if begun.what is What.CHANGE:
            row.cause, row.peer, row.window_ms = _evidence(begun)
    if ended is not None and _ends_within(version, period):
        row.until, row.ended_by, row.ending = ended.at, version.ended_by, version.ending
        if ended.what is What.CHANGE:
            row.to_cause, row.to_peer, row.to_window_ms = _evidence(ended)
    elif period.until is not None:
        row.ended_by = period.ended_by
    return row


def _evidence(event: HistoryEvent) -> tuple[str | None, str | None, int | None]:
    return event.cause or None, event.peer or None, event.window_ms or None


def _ends_within(version: RowVersion[Any], period: UpPeriod) -> bool:
    """Whether a record of the period ended the row, and not the end of the period."""
    return version.ended is not None and (period.end is None or version.ended.number < period.end)


def _end_by(last: RowPeriod, row: RowPeriod, *, is_over: bool) -> None:
    """Let a row end by the last record of the instant of its end.

    Args:
        last: the row.
        row: the next one, which began at that instant.
        is_over: whether a record ended the next one.
    """
    if is_over and row.until == row.since:
        _take_end(last, row)
    elif last.ended_by in {"gone", "checkpoint"}:
        last.ended_by, last.ending = "changed", None
        last.to_cause, last.to_peer, last.to_window_ms = row.cause, row.peer, row.window_ms


def _go_on(last: RowPeriod, row: RowPeriod) -> None:
    """Let a row last as long as the one that continues it."""
    last.until = row.until
    _take_end(last, row)


def _take_end(last: RowPeriod, row: RowPeriod) -> None:
    last.ended_by, last.ending = row.ended_by, row.ending
    last.to_cause, last.to_peer, last.to_window_ms = row.to_cause, row.to_peer, row.to_window_ms


def _is_same_session(one: BrokerLive, one_boot: int, other: BrokerLive, other_boot: int) -> bool:
    return (one.broker_name, one.broker_id, one.gen, one_boot) == (
        other.broker_name, other.broker_id, other.gen, other_boot,
    )  # fmt: skip


def _is_equal(one: object, _one_boot: int, other: object, _other_boot: int) -> bool:
    return one == other
