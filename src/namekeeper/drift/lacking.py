"""When a name server lacked what another one had: the parts of incidents of the kind `drift`.

The rule is that of gold's `incident_part` (docs/decisions/0042).
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from namekeeper.answers.evidence import FOREVER
from namekeeper.common.expected import SHORTEST_DRIFT_MS, TOGETHER_END_MS, TOGETHER_MS
from namekeeper.drift.disagreement import BrokerSubject, KvSubject, Seen, Subject, TopicSubject, differ
from namekeeper.drift.periods import OncePerHistory, changed_subjects, registered_brokers
from namekeeper.drift.witness import Witness
from namekeeper.history.rows import ValidPeriod
from namekeeper.model.perm import Perm
from namekeeper.route.events import Cause

__all__ = ["DriftCause", "LackingFinder", "LackingPeriod"]

TIMES_LIMIT = 200
"""Instants at which name servers are compared about one subject; the newest ones."""
_BEST = 2
"""The grade of a row that lacks nothing. Other name servers may have other values in it."""


class DriftCause(StrEnum):
    """The kind of thing that a name server lacks."""

    BROKER_MISSING = "broker_missing"
    TOPIC_MISSING = "topic_missing"
    PERMISSION_DIFFERS = "permission_differs"
    """The permission to write."""
    QUEUES_DIFFER = "queues_differ"
    """Each lacks the row of the others: none of them is better."""
    ORDER_DIFFERS = "order_differs"
    KV_DIFFERS = "kv_differs"


class LackingPeriod(Struct, frozen=True):
    """A time in which a name server lacked what another one had."""

    subject: Subject
    namesrv: str
    cause: DriftCause
    since: int
    """Wall ms."""
    window_ms: int
    """The start was up to this long before `since`; 0: exactly then."""
    to: int
    """Wall ms; the last instant that is known if it is open."""
    to_window_ms: int
    """The end was up to this long before `to`; 0: exactly then."""
    is_open: bool
    """Whether it had not ended at the last instant that is known of all name servers."""


class _SplitPeriod(Struct, frozen=True):
    """A time in which name servers saw something differently, and each of them the same."""

    since: int
    to: int
    from_window_ms: int
    to_window_ms: int
    views: Mapping[str, Seen]
    at_end: bool
    """Whether the records of one of them end with it."""

    @property
    def certain_ms(self) -> int:
        """How long it lasted at least."""
        return self.to - self.to_window_ms - self.since


class LackingFinder:
    """Finds the times of one cluster of name servers.

    Args:
        witnesses: the name servers, each as it is seen after its last record.
        horizon: the last instant that is known of any of them, wall ms.
    """

    def __init__(self, witnesses: Sequence[Witness], horizon: int) -> None:
        self._witnesses, self._horizon = witnesses, horizon
        self._periods = OncePerHistory(witnesses, self._found)

    def changed_since(self, after: int) -> Iterator[Subject]:
        """The topics and entries that changed after a time (wall ms), and all brokers: there are few."""
        yield from registered_brokers(self._witnesses)
        yield from changed_subjects(self._witnesses, after)

    def of_subject(self, subject: Subject) -> Iterator[LackingPeriod]:
        """When each name server lacked a subject for so long that it is an incident."""
        chains: dict[tuple[str, DriftCause], list[_SplitPeriod]] = {}
        for period in self._periods(subject):
            for key in _lacking(subject, period.views).items():
                chain = chains.setdefault(key, [])
                if chain and period.since - chain[-1].to >= SHORTEST_DRIFT_MS:
                    yield from self._counted(subject, *key, chain)
                    chain.clear()
                chain.append(period)
        for key, chain in chains.items():
            yield from self._counted(subject, *key, chain)

    def _counted(
        self, subject: Subject, namesrv: str, cause: DriftCause, chain: Sequence[_SplitPeriod]
    ) -> Iterator[LackingPeriod]:
        """The time of periods that follow each other, if it counts."""
        first, last = chain[0], chain[-1]
        taking_part = (each for each in self._witnesses if each.namesrv in last.views)
        delay_ms = max((each.delay_ms(type(subject.key)) for each in taking_part), default=0)
        if last.to - last.to_window_ms - first.since < max(TOGETHER_MS, delay_ms):
            return
        end_ms = TOGETHER_END_MS if last.at_end else SHORTEST_DRIFT_MS
        is_open = last.to > self._horizon - end_ms
        found = LackingPeriod(
            subject, namesrv, cause, first.since, first.from_window_ms, last.to, last.to_window_ms, is_open
        )
        if not self._was_wiped(found):
            yield found

    def _was_wiped(self, one: LackingPeriod) -> bool:
        """Whether somebody wiped the permission that the name server lacks: that is an incident already."""
        if one.cause is not DriftCause.PERMISSION_DIFFERS:
            return False
        until = FOREVER if one.is_open else one.to
        (history,) = (each.history for each in self._witnesses if each.namesrv == one.namesrv)
        return any(
            period.since.cause == Cause.WIPE_WRITE_PERM
            and period.since.at <= one.since + TOGETHER_MS
            and (period.until is None or period.until.at >= until - TOGETHER_MS)
            for _, period in history.value_periods([one.subject.key], _row_of)
        )

    def _found(self, subject: Subject) -> Sequence[_SplitPeriod]:
        """The newest times in which name servers saw a subject differently, without those of propagation."""
        times = {time for each in self._witnesses for time in subject.times(each) if time <= self._horizon}
        found: list[_SplitPeriod] = []
        since = 0
        before: Mapping[str, Seen] = {}
        for time in sorted(times)[-TIMES_LIMIT:]:
            views = subject.views(self._witnesses, time)
            if views == before:
                continue
            if differ(before):
                windows = self._window(subject, since), self._window(subject, time)
                ends = {each.open_end for each in self._witnesses if each.namesrv in before}
                found.append(_SplitPeriod(since, time, *windows, before, at_end=time in ends))
            since, before = time, views
        return [each for each in found if each.certain_ms >= SHORTEST_DRIFT_MS]

    def _window(self, subject: Subject, at: int) -> int:
        return max(subject.window_of(each, at) for each in self._witnesses)


def _lacking(subject: Subject, views: Mapping[str, Seen]) -> dict[str, DriftCause]:
    """The name servers that lack what another one has, and what that is."""
    grades = {namesrv: _grade(subject, seen) for namesrv, seen in views.items()}
    best = max(grades.values())
    if min(grades.values()) == best:
        return dict.fromkeys(views, _cause(subject, _BEST))
    return {namesrv: _cause(subject, grade) for namesrv, grade in grades.items() if grade < best}


def _grade(subject: Subject, seen: Seen) -> int:
    """A row that is absent is worse than one that can't be written to."""
    if seen is None:
        return 0
    if isinstance(subject, TopicSubject):
        _, _, perm, _ = seen
        assert isinstance(perm, int)
        return _BEST if perm & Perm.WRITE else 1
    return _BEST


def _cause(subject: Subject, grade: int) -> DriftCause:
    if isinstance(subject, BrokerSubject):
        return DriftCause.BROKER_MISSING
    if isinstance(subject, KvSubject):
        return DriftCause.ORDER_DIFFERS if subject.is_order else DriftCause.KV_DIFFERS
    return (DriftCause.TOPIC_MISSING, DriftCause.PERMISSION_DIFFERS, DriftCause.QUEUES_DIFFER)[grade]


def _row_of(period: ValidPeriod[Any]) -> object:
    return period.row
