"""The times in which name servers saw a subject differently, found by going through all its changes."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

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

__all__ = [
    "GROUPS_LIMIT",
    "DifferingPeriod",
    "EndedDrift",
    "OfSubject",
    "OncePerHistory",
    "changed_subjects",
    "ended_verdicts",
    "grouped",
    "registered_brokers",
    "verdicts_on",
]

GROUPS_LIMIT = 20
"""Groups of disagreements that ended together with a verdict; older ones are left out."""
T = TypeVar("T")


class DifferingPeriod(Struct, frozen=True):
    """A time in which name servers saw something differently."""

    since: int
    to: int | None
    """Wall ms; None: they still do."""
    views: Mapping[str, Seen]
    """The last ones."""
    is_since_known: bool


OfSubject = tuple[Subject, DifferingPeriod]
"""A subject, and a time in which it was seen differently."""


class EndedDrift(Struct, frozen=True):
    """Disagreements that began together, and are all over."""

    verdicts: Sequence[DriftVerdict]
    """As they were just before the first of them ended."""
    to: int
    """Wall ms of the end of the last one."""


def registered_brokers(witnesses: Iterable[Witness]) -> list[BrokerSubject]:
    """All brokers that were registered with any name server, sorted."""
    return [BrokerSubject(each) for each in sorted({each for one in witnesses for each in one.registrations})]


def changed_subjects(witnesses: Iterable[Witness], after: int) -> Iterator[TopicSubject | KvSubject]:
    """The topics and KV entries that changed at any name server after a time, wall ms."""
    keys: set[AnyKey] = set()
    for witness in witnesses:
        for event in reversed(witness.history.all_events):
            if event.at < after:
                break
            keys.update(row.key for row in event.rows if isinstance(row.key, TopicKey | KvKey))
    for key in keys:
        if isinstance(key, TopicKey):
            yield TopicSubject(key.topic, key.broker_name)
        elif isinstance(key, KvKey):
            yield KvSubject(key.namespace, key.key)


class OncePerHistory(Generic[T]):
    """Results for subjects. Topics of one broker name with equal changes share a result: they may be many.

    Args:
        witnesses: the name servers.
        find: makes the result for a subject.
    """

    def __init__(self, witnesses: Sequence[Witness], find: Callable[[Subject], T]) -> None:
        self._witnesses, self._find = witnesses, find
        self._found: dict[Hashable, T] = {}

    def __call__(self, subject: Subject) -> T:
        """The result for a subject."""
        if not isinstance(subject, TopicSubject):
            return self._find(subject)
        changes = tuple(tuple(_changes(each, subject.key)) for each in self._witnesses)
        same = subject.broker_name, changes
        if same not in self._found:
            self._found[same] = self._find(subject)
        return self._found[same]


def grouped(every: Iterable[OfSubject]) -> list[Sequence[OfSubject]]:
    """Periods that began together and are of one kind."""
    found: dict[Hashable, list[OfSubject]] = {}
    for one, island in islands(every, _key, _order):
        found.setdefault((_key(one), island), []).append(one)
    return list(found.values())


def ended_verdicts(groups: Sequence[Sequence[OfSubject]], witnesses: Sequence[Witness]) -> list[EndedDrift]:
    """The verdicts on the groups that ended last, the newest end first."""
    ends = [(end, some) for some in groups if some and (end := _last_end(some)) is not None]
    ends.sort(key=lambda group: -group[0])
    found: list[EndedDrift] = []
    for to, some in ends[:GROUPS_LIMIT]:
        at = min(each.to for _, each in some if each.to is not None) - 1
        found.append(EndedDrift(verdicts_on(some, witnesses, at), to))
    return found


def verdicts_on(some: Sequence[OfSubject], witnesses: Iterable[Witness], at: int) -> list[DriftVerdict]:
    """The verdicts on periods of one cluster that include an instant (wall ms)."""
    at_it = [Witness(each.history, at) for each in witnesses]
    found = [_disagreement(one, each, at_it) for one, each in sorted(some, key=_order) if each.since <= at]
    return verdicts(Found.of(found), at_it, at)


def _last_end(some: Sequence[OfSubject]) -> int | None:
    """The end of the last of some periods, wall ms; None: one goes on."""
    ends = [each.to for _, each in some if each.to is not None]
    return max(ends) if len(ends) == len(some) else None


def _key(one: OfSubject) -> tuple[type[Subject], str, tuple[str, ...]]:
    subject, period = one
    missing_at = sorted(name for name, seen in period.views.items() if seen is None)
    of_name = subject.broker_name if isinstance(subject, TopicSubject) else ""
    return type(subject), of_name, tuple(missing_at)


def _order(one: OfSubject) -> tuple[int, str]:
    return one[1].since, str(one[0])


def _disagreement(
    subject: Subject, period: DifferingPeriod, witnesses: Iterable[Witness]
) -> Disagreement[Any]:
    since = period.since
    window_ms = max(subject.window_of(each, since) for each in witnesses)
    views = dict(sorted(period.views.items()))
    return Disagreement(subject, views, since, window_ms, period.is_since_known, since)


def _changes(witness: Witness, key: TopicKey) -> Iterator[tuple[object, ...]]:
    """The changes of a topic at one name server, without its name."""
    for time, row in witness.history.changes_of(key):
        yield (time,) if row is None else (time, *structs.astuple(row)[1:])
