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
    "DifferingPeriod",
    "OfSubject",
    "OncePerHistory",
    "changed_subjects",
    "grouped",
    "last_end",
    "registered_brokers",
    "verdicts_on",
]

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


def last_end(some: Sequence[OfSubject]) -> int | None:
    """The end of the last of some periods, wall ms; None: one goes on."""
    ends = [each.to for _, each in some if each.to is not None]
    return max(ends) if len(ends) == len(some) else None


def verdicts_on(some: Sequence[OfSubject], witnesses: Iterable[Witness], at: int) -> list[DriftVerdict]:
    """The verdicts on periods of one cluster that include an instant (wall ms)."""
    at_it = [Witness(each.history, at) for each in witnesses]
    found = [_disagreement(one, each, at_it) for one, each in sorted(some, key=_order) if each.since <= at]
    return verdicts(
        Found(
            brokers=[each for each in found if isinstance(each.subject, BrokerSubject)],
            topics=[each for each in found if isinstance(each.subject, TopicSubject)],
            entries=[each for each in found if isinstance(each.subject, KvSubject)],
            unsettled=0,
        ),
        at_it,
        at,
    )


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
