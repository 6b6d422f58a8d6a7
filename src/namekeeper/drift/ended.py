"""Disagreements that are over: when name servers saw differently what changed lately."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from namekeeper.answers.incidents.failures import islands
from namekeeper.drift.disagreement import (
    BrokerSubject,
    Disagreement,
    Found,
    KvSubject,
    Seen,
    Subject,
    TopicSubject,
)
from namekeeper.drift.verdict import DriftVerdict, verdicts
from namekeeper.drift.witness import Witness
from namekeeper.history.rows import AnyKey, KvKey, TopicKey

__all__ = ["EndedDrift", "ended_drift"]

GROUPS_LIMIT = 20
"""Groups of disagreements that ended together with a verdict; older ones are left out."""
TIMES_LIMIT = 200
"""Instants at which name servers are compared about one subject; the newest ones."""


class EndedDrift(Struct, frozen=True):
    """Disagreements that began together, and are all over."""

    verdicts: Sequence[DriftVerdict]
    """As they were just before the first of them ended."""
    to: int
    """Wall ms of the end of the last one."""


class _DifferingPeriod(Struct, frozen=True):
    """A time in which name servers saw something differently."""

    since: int
    to: int | None
    """Wall ms; None: they still do."""
    views: Mapping[str, Seen]
    """The last ones."""
    is_since_known: bool


def ended_drift(witnesses: Sequence[Witness], at: int, after: int, least_ms: int) -> list[EndedDrift]:
    """The disagreements of one cluster that are over, the newest end first.

    Args:
        witnesses: the name servers, as they are compared at an instant.
        at: this instant, wall ms.
        after: only those that were over after it, wall ms.
        least_ms: shorter ones are left out; of observed name servers those that are as short as a change on
            its way.
    """
    finder = _Finder(witnesses, at, after)
    found: dict[Hashable, list[tuple[Subject, _DifferingPeriod]]] = {}
    every = [(subject, each) for subject in finder.subjects() for each in finder.periods(subject)]
    for one, island in islands(every, _key, _order):
        found.setdefault((_key(one), island), []).append(one)
    groups: list[tuple[int, list[tuple[Subject, _DifferingPeriod]]]] = []
    for some in found.values():
        ends = [each.to for _, each in some if each.to is not None]
        if len(ends) == len(some) and max(ends) > after:
            kept = [(subject, each) for subject, each in some if finder.is_long(subject, each, least_ms)]
            if kept:
                groups.append((max(each.to or 0 for _, each in kept), kept))
    groups.sort(key=lambda group: -group[0])
    return [EndedDrift(finder.verdicts(some), to) for to, some in groups[:GROUPS_LIMIT]]


def _key(one: tuple[Subject, _DifferingPeriod]) -> tuple[type[Subject], str, tuple[str, ...]]:
    subject, period = one
    missing_at = sorted(name for name, seen in period.views.items() if seen is None)
    of_name = subject.broker_name if isinstance(subject, TopicSubject) else ""
    return type(subject), of_name, tuple(missing_at)


def _order(one: tuple[Subject, _DifferingPeriod]) -> tuple[int, str]:
    return one[1].since, str(one[0])


class _Finder:
    def __init__(self, witnesses: Sequence[Witness], at: int, after: int) -> None:
        self._witnesses, self._at, self._after = witnesses, at, after
        self._known: dict[Hashable, Sequence[_DifferingPeriod]] = {}
        """Broker name and the changes of a topic -> when it was seen differently: many topics share them."""

    def subjects(self) -> Iterator[Subject]:
        """The topics and entries that changed lately, and all brokers, of which there are few."""
        yield from map(BrokerSubject, sorted({each for one in self._witnesses for each in one.registrations}))
        keys: set[AnyKey] = set()
        for witness in self._witnesses:
            for event in reversed(witness.history.all_events):
                if event.at < self._after:
                    break
                keys.update(row.key for row in event.rows if isinstance(row.key, TopicKey | KvKey))
        for key in keys:
            if isinstance(key, TopicKey):
                yield TopicSubject(key.topic, key.broker_name)
            elif isinstance(key, KvKey):
                yield KvSubject(key.namespace, key.key)

    def periods(self, subject: Subject) -> Sequence[_DifferingPeriod]:
        """When a subject was seen differently, the last ones."""
        if not isinstance(subject, TopicSubject):
            return self._found(subject)
        changes = tuple(tuple(_changes(each, subject.key)) for each in self._witnesses)
        same = subject.broker_name, changes
        found = self._known.get(same)
        if found is None:
            found = self._known[same] = self._found(subject)
        return found

    def is_long(self, subject: Subject, period: _DifferingPeriod, least_ms: int) -> bool:
        """Whether a period that is over was more than a change on its way."""
        taking_part = (each for each in self._witnesses if each.namesrv in period.views)
        delay_ms = max((each.delay_ms(type(subject.key)) for each in taking_part), default=0)
        assert period.to is not None
        return period.to - period.since >= max(least_ms, delay_ms)

    def verdicts(self, some: Sequence[tuple[Subject, _DifferingPeriod]]) -> list[DriftVerdict]:
        """The verdicts on disagreements that began together, just before the first of them ended."""
        at = min(each.to for _, each in some if each.to is not None) - 1
        found = [
            self._disagreement(subject, each)
            for subject, each in sorted(some, key=_order)
            if each.since <= at
        ]
        return verdicts(
            Found(
                brokers=[each for each in found if isinstance(each.subject, BrokerSubject)],
                topics=[each for each in found if isinstance(each.subject, TopicSubject)],
                entries=[each for each in found if isinstance(each.subject, KvSubject)],
                unsettled=0,
            ),
            [Witness(each.history, at) for each in self._witnesses],
            at,
        )

    def _disagreement(self, subject: Subject, period: _DifferingPeriod) -> Disagreement[Any]:
        window_ms = max(subject.window_of(each, period.since) for each in self._witnesses)
        views = dict(sorted(period.views.items()))
        since = period.since
        return Disagreement(subject, views, since, window_ms, period.is_since_known, since)

    def _found(self, subject: Subject) -> list[_DifferingPeriod]:
        times = {time for each in self._witnesses for time in subject.times(each) if time <= self._at}
        newest = sorted(times)[-TIMES_LIMIT:]
        found: list[_DifferingPeriod] = []
        since: int | None = None
        before: Mapping[str, Seen] = {}
        is_known = False
        for time in newest:
            views = subject.views(self._witnesses, time)
            differ = len(set(views.values())) > 1
            if differ and since is None:
                since, is_known = time, before.keys() >= views.keys()
            elif not differ and since is not None:
                found.append(_DifferingPeriod(since, time, before, is_known))
                since = None
            before = views
        if since is not None:
            found.append(_DifferingPeriod(since, None, before, is_known))
        return [each for each in found if each.to is None or each.to > self._after]


def _changes(witness: Witness, key: TopicKey) -> Iterator[tuple[object, ...]]:
    """The changes of a topic at one name server, without its name."""
    for time, row in witness.history.changes_of(key):
        yield (time,) if row is None else (time, *structs.astuple(row)[1:])
