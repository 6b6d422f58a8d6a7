"""Whether a shadow has the tables of the name servers that it is to replace, since when, and what differs.

A shadow is a name server that brokers register with in addition to those that clients use. A value of the
shadow is a difference if none of the others has it: where these disagree among themselves, one that agrees
with any of them would do as well.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial

from msgspec import Struct

from namekeeper.common.expected import TOGETHER_MS
from namekeeper.common.shadow_names import is_shadow
from namekeeper.drift.compared import compared, why_not_text
from namekeeper.drift.disagreement import BrokerSubject, KvSubject, Seen, Subject, differing_topics
from namekeeper.drift.periods import (
    DifferingPeriod,
    EndedDrift,
    OfSubject,
    OncePerHistory,
    changed_subjects,
    ended_verdicts,
    grouped,
    registered_brokers,
    verdicts_on,
)
from namekeeper.drift.verdict import DriftVerdict
from namekeeper.drift.witness import BrokerId, RegisteredPeriod, Witness
from namekeeper.history.history import History
from namekeeper.history.rows import KvKey, TopicKey

__all__ = ["SETTLE_MS", "ShadowReport", "ShadowState", "present_shadows", "shadow_report"]

SETTLE_MS = TOGETHER_MS
"""A shorter difference does not count: a broker registers every 30 seconds, and Java looks for brokers that
expired every 10 seconds at most."""
TIMES_LIMIT = 1_000
"""Instants at which a subject is compared; the newest ones. Nothing is said about the time before."""
_NEVER = object()
Span = tuple[int, int]
"""Wall ms: a time, and the end of it."""


class ShadowState(StrEnum):
    """Outcomes of a comparison."""

    EQUAL = "equal"
    INCOMPLETE = "incomplete"
    """Nothing differs, and brokers do not register with it."""
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    """The shadow can't be compared now."""


class ShadowReport(Struct, frozen=True, kw_only=True):
    """The comparison of a shadow with the other name servers of its cluster."""

    shadow: str
    """Id of the shadow."""
    cluster_label: str
    at: int
    """Wall ms; 0: nothing is known."""
    state: ShadowState
    compared_with: Sequence[str] = ()
    """Name servers whose state is known at the instant, sorted."""
    why_not: str = ""
    """Why it is not compared; empty if it is."""
    begun: int | None = None
    """Wall ms of the start of the comparison; None: no broker was ever registered with both sides."""
    equal_since: int | None = None
    """Wall ms from which on nothing differs; None: something does."""
    unknown_ms: int = 0
    """For how long of the time since then the state of the shadow, or of all others, is not known."""
    changes: int = 0
    """Changes since then that the shadow and another name server have seen; or since `begun` if something
    differs."""
    brokers: int = 0
    """Brokers that are registered with the shadow."""
    topics: int = 0
    """Topics of the shadow."""
    not_registered: Sequence[BrokerId] = ()
    """Brokers that others have, and that never registered with the shadow."""
    differences: Sequence[DriftVerdict] = ()
    """Differences of the instant."""
    unsettled: int = 0
    """Brokers, topics and KV entries that are different, perhaps because a change is on its way."""
    ended: Sequence[EndedDrift] = ()
    """Differences that are over, the newest end first."""

    @property
    def equal_ms(self) -> int:
        """For how long it is known to be equal."""
        return 0 if self.equal_since is None else self.at - self.equal_since - self.unknown_ms

    @property
    def is_equal(self) -> bool:
        """Whether it could replace the others: nothing differs, and every broker registers with it."""
        return self.state is ShadowState.EQUAL


def shadow_report(histories: Sequence[History], shadow: str, at: int | None = None) -> ShadowReport:
    """Compare a shadow with the other name servers of its cluster.

    Args:
        histories: of name servers, about every name; one is that of the shadow.
        shadow: its id.
        at: the instant, wall ms; None is the last one that is known of all whose records end together.
    """
    groups = compared(histories, at, shadow=shadow)
    (cluster,) = (some for some in groups.clusters if any(each.namesrv == shadow for each in some))
    (mine,) = (each for each in cluster if each.namesrv == shadow)
    others = [each for each in cluster if each is not mine]
    known = [each for each in others if each.has_rows_now]
    label = mine.history.cluster_label
    make = partial(ShadowReport, shadow=shadow, cluster_label=label, at=groups.at)
    if not mine.has_rows_now:
        return make(state=ShadowState.UNKNOWN, why_not=f"{shadow}: {why_not_text(mine)}")
    if not known:
        why = "; ".join(f"{each.namesrv}: {why_not_text(each)}" for each in others)
        return make(
            state=ShadowState.UNKNOWN,
            why_not=why or "there is no other name server of its cluster: no broker registers with both yet",
        )
    return _ShadowComparison(mine, others, groups.at).report(make, sorted(each.namesrv for each in known))


def present_shadows(histories: Sequence[History]) -> list[ShadowReport]:
    """The comparison of each shadow of an observer, at the last instant that is known.

    Args:
        histories: of name servers, about every name.
    """
    return [shadow_report(histories, each.namesrv) for each in histories if is_shadow(each.namesrv)]


class _OfOne(Struct, frozen=True):
    """The differences and changes of one subject."""

    periods: Sequence[DifferingPeriod]
    changes: Sequence[int]
    """When the shadow took a value that another name server had before or after it, wall ms."""
    since: int
    """Nothing is known about the time before, wall ms; 0: there is none."""


class _ShadowComparison:
    def __init__(self, mine: Witness, others: Sequence[Witness], at: int) -> None:
        self._mine, self._others, self._at = mine, others, at
        self._witnesses = [mine, *others]
        self._of = OncePerHistory(self._witnesses, self._found)

    def report(self, make: "partial[ShadowReport]", compared_with: Sequence[str]) -> ShadowReport:
        """Compare all subjects."""
        begun = self._begun()
        since = begun or 0
        now: list[OfSubject] = []
        over: list[OfSubject] = []
        changes: set[int] = set()
        unsettled = 0
        for subject in self._subjects():
            found = self._of(subject)
            changes.update(found.changes)
            since = max(since, found.since)
            for period in found.periods:
                if period.to is None and not self._is_settled(subject, period):
                    unsettled += 1
                elif not self._never_registered(subject, period) and self._counts(subject, period):
                    (now if period.to is None else over).append((subject, period))
        missing = self._not_registered()
        equal_since = None if now or begun is None else max([since, *(each.to or 0 for _, each in over)])
        counted_from = since if equal_since is None else equal_since
        brokers = len(self._mine.brokers)
        is_complete = brokers and begun is not None and not missing
        complete = ShadowState.EQUAL if is_complete else ShadowState.INCOMPLETE
        return make(
            state=ShadowState.DIFFERENT if now else complete,
            compared_with=compared_with,
            begun=None if begun is None else since,
            equal_since=equal_since,
            unknown_ms=0 if equal_since is None else self._unknown_ms(equal_since),
            changes=sum(each > counted_from for each in changes),
            brokers=brokers,
            topics=len({key.topic for key, _ in self._mine.history.rows(TopicKey, self._at)}),
            not_registered=missing,
            differences=verdicts_on(now, self._witnesses, self._at),
            unsettled=unsettled,
            ended=ended_verdicts(grouped(over), self._witnesses),
        )

    def _subjects(self) -> Iterator[Subject]:
        """All brokers and KV entries, and the topics that changed or are different: the others are equal."""
        yield from registered_brokers(self._witnesses)
        changed = set[Subject](changed_subjects(self._witnesses, 0))
        changed.update(differing_topics(self._witnesses, self._at))
        keys = {key for each in self._witnesses for key in each.history.keys(KvKey)}
        changed.update(KvSubject(key.namespace, key.key) for key in keys)
        yield from changed

    def _found(self, subject: Subject) -> _OfOne:
        every = sorted({time for each in self._witnesses for time in subject.times(each) if time <= self._at})
        times = every[-TIMES_LIMIT:]
        scan = _Scan(self._mine.namesrv)
        for time in times:
            scan.take(time, subject.views(self._witnesses, time))
        return _OfOne(scan.ended(), scan.changes, times[0] if len(times) < len(every) else 0)

    def _is_settled(self, subject: Subject, period: DifferingPeriod) -> bool:
        """Whether a difference of the instant is more than a change on its way."""
        taking_part = [each for each in self._witnesses if each.namesrv in period.views]
        if any(subject.key in each.in_question for each in taking_part):
            return False
        delay_ms = max(each.delay_ms(type(subject.key)) for each in taking_part)
        return self._at - period.since >= max(SETTLE_MS, delay_ms)

    def _counts(self, subject: Subject, period: DifferingPeriod) -> bool:
        """Whether a difference is over, and lasted for long without the window of its end."""
        end = period.to
        if end is None:
            return True
        window_ms = max(subject.window_of(each, end) for each in self._witnesses)
        return end - window_ms - period.since >= SETTLE_MS

    def _never_registered(self, subject: Subject, period: DifferingPeriod) -> bool:
        """Whether the difference is that a broker had not registered with the shadow yet."""
        if not isinstance(subject, BrokerSubject) or period.views[self._mine.namesrv] is not None:
            return False
        until = self._at if period.to is None else period.to - 1
        return not self._mine.had_since(subject.broker, 0, until)

    def _not_registered(self) -> list[BrokerId]:
        there = {
            broker
            for each in self._others
            for broker in each.brokers
            if (one := each.registration_of(broker, self._at)) and self._at - one.begun.at >= SETTLE_MS
        }
        return sorted(each for each in there if not self._mine.had_since(each, 0, self._at))

    def _begun(self) -> int | None:
        """When a broker was registered with both sides for the first time, wall ms."""
        return min(
            (
                both[0]
                for broker, held in self._mine.registrations.items()
                for each in self._others
                for both in _common(self._spans(held), self._spans(each.registrations.get(broker, ())))
            ),
            default=None,
        )

    def _spans(self, held: Iterable[RegisteredPeriod]) -> list[Span]:
        return [(each.begun.at, self._at + 1 if each.ended is None else each.ended.at) for each in held]

    def _unknown_ms(self, since: int) -> int:
        """For how long since a time nothing is compared."""
        known = sorted({span for each in self._others for span in _common(self._mine.known, each.known)})
        total, end = 0, since
        for begin, until in known:
            total += max(min(until, self._at) - max(begin, end), 0)
            end = max(end, until)
        return self._at - since - total


class _Scan:
    """Goes through the views of one subject, the oldest first."""

    def __init__(self, shadow: str) -> None:
        self._shadow = shadow
        self._periods: list[DifferingPeriod] = []
        self.changes: list[int] = []
        self._mine: object = _NEVER
        """The last value of the shadow."""
        self._mine_since = 0
        self._agreed: object = _NEVER
        """The last value that another name server had, too."""
        self._since: int | None = None
        self._to: int | None = None
        """When it could not be compared any more."""
        self._is_known = False
        self._last: dict[str, Seen] = {}
        """The views of the present difference."""
        self._before: dict[str, Seen] = {}

    def take(self, time: int, views: dict[str, Seen]) -> None:
        """Go on with what the name servers that can tell have from a time on, wall ms."""
        others = {seen for name, seen in views.items() if name != self._shadow}
        if self._shadow not in views or not others:
            if self._since is not None and self._to is None:
                self._to = time
            self._before = views
            return
        mine = views[self._shadow]
        if mine != self._mine:
            self._mine, self._mine_since = mine, time
        if mine in others:
            self._agree(time, mine)
        else:
            if self._since is None:
                self._since, self._is_known = time, self._before.keys() >= views.keys()
            self._last, self._to = views, None
        self._before = views

    def ended(self) -> Sequence[DifferingPeriod]:
        """The times of differences."""
        self._close(self._to)
        return self._periods

    def _agree(self, time: int, value: Seen) -> None:
        if self._agreed is not _NEVER and value != self._agreed:
            self.changes.append(self._mine_since)
        self._agreed = value
        self._close(time if self._to is None else self._to)

    def _close(self, to: int | None) -> None:
        if self._since is not None:
            self._periods.append(DifferingPeriod(self._since, to, self._last, self._is_known))
        self._since = self._to = None


def _common(some: Iterable[Span], others: Iterable[Span]) -> Iterator[Span]:
    """The times that are in both."""
    every = list(others)
    for begin, end in some:
        for since, until in every:
            if max(begin, since) < min(end, until):
                yield max(begin, since), min(end, until)
