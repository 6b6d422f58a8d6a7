"""The subjects that name servers see differently at an instant, and since when they do."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec import Struct

from namekeeper.common.expected import SHORTEST_DRIFT_MS
from namekeeper.drift.witness import BrokerId, Witness
from namekeeper.history.rows import AnyKey, HistoryEvent, KvKey, LiveKey, TopicKey
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG

__all__ = [
    "BrokerSubject",
    "Disagreement",
    "Found",
    "KvSubject",
    "Subject",
    "TopicSubject",
    "differ",
    "differing_topics",
    "disagreements",
]

Seen = tuple[object, ...] | None
"""The value that a name server has; None: nothing."""
S = TypeVar("S", bound="Subject")


class Subject(ABC):
    """A thing about which name servers are compared."""

    @property
    @abstractmethod
    def key(self) -> AnyKey:
        """The key of its row."""

    @abstractmethod
    def can_tell(self, witness: Witness, at: int) -> bool:
        """Whether a name server would know of it at a time."""

    @abstractmethod
    def seen_by(self, witness: Witness, at: int) -> Seen:
        """The value of a name server at a time at which its rows are known."""

    @abstractmethod
    def times(self, witness: Witness) -> Iterator[int]:
        """Times at which `can_tell` or `seen_by` may change."""

    def views(self, witnesses: Iterable[Witness], at: int) -> dict[str, Seen]:
        """The values of the name servers that can tell."""
        return {each.namesrv: self.seen_by(each, at) for each in witnesses if self.can_tell(each, at)}

    def window_of(self, witness: Witness, at: int) -> int:
        """The longest window of the changes of its row at a time."""
        events: list[HistoryEvent | None] = [
            event
            for version in witness.history.all_versions(self.key)
            for event in (version.begun, version.ended)
        ]
        return max((each.window_ms for each in events if each is not None and each.at == at), default=0)


@dataclass(frozen=True, slots=True)
class BrokerSubject(Subject):
    """Whether a broker is registered."""

    broker: BrokerId

    @property
    def key(self) -> LiveKey:
        """The key of its live registration."""
        return LiveKey(self.broker.cluster, self.broker.addr)

    def can_tell(self, witness: Witness, at: int) -> bool:
        """Whether the name server would know of the broker."""
        return witness.can_miss(self.broker, at)

    def seen_by(self, witness: Witness, at: int) -> Seen:
        """Nothing, or that it is there."""
        return None if witness.registration_of(self.broker, at) is None else ()

    def times(self, witness: Witness) -> Iterator[int]:
        """Starts and ends of its registrations, and of what makes a witness."""
        return witness.broker_times(self.broker)


@dataclass(frozen=True, slots=True)
class TopicSubject(Subject):
    """The queues and the permission of a topic on a broker name."""

    topic: str
    broker_name: str

    @property
    def key(self) -> TopicKey:
        """The key of its queues."""
        return TopicKey(self.topic, self.broker_name)

    def can_tell(self, witness: Witness, at: int) -> bool:
        """Whether the name server has the broker name."""
        return witness.has_name(self.broker_name, at)

    def seen_by(self, witness: Witness, at: int) -> Seen:
        """Read queues, write queues, permission and flag."""
        row = witness.history.row_at(self.key, at)
        return (
            None if row is None else (row.read_queue_nums, row.write_queue_nums, row.perm, row.topic_sys_flag)
        )

    def times(self, witness: Witness) -> Iterator[int]:
        """Changes of the topic, and of its broker name."""
        return witness.topic_times(self.key)


@dataclass(frozen=True, slots=True)
class KvSubject(Subject):
    """An entry of the KV configuration."""

    namespace: str
    name: str

    @property
    def is_order(self) -> bool:
        """Whether it is the order configuration of the topic `name`."""
        return self.namespace == ORDER_TOPIC_CONFIG

    @property
    def key(self) -> KvKey:
        """The key of the entry."""
        return KvKey(self.namespace, self.name)

    def can_tell(self, witness: Witness, at: int) -> bool:
        """Whether the entries of the namespace are known."""
        return witness.can_tell_kv(self.namespace, at)

    def seen_by(self, witness: Witness, at: int) -> Seen:
        """The value of the entry."""
        row = witness.history.row_at(self.key, at)
        return None if row is None else (row.value,)

    def times(self, witness: Witness) -> Iterator[int]:
        """Changes of the entry."""
        return witness.row_times(self.key)


class Disagreement(Struct, Generic[S], frozen=True):
    """A subject that name servers see differently, and since when."""

    subject: S
    views: Mapping[str, Seen]
    """Name server -> what it has; only those that can tell."""
    since: int
    """Wall ms; since then they have not agreed about it."""
    since_window_ms: int
    """The disagreement began up to this long before `since`, as an observer recorded it; 0: exactly then."""
    is_since_known: bool
    """False: it may be older, because some of them could not tell before."""
    views_since: int
    """Wall ms; since then each sees it as it does now."""

    @property
    def missing_at(self) -> tuple[str, ...]:
        """Name servers without it, sorted."""
        return tuple(sorted(name for name, seen in self.views.items() if seen is None))

    @property
    def held_by(self) -> tuple[str, ...]:
        """Name servers that have it, sorted."""
        return tuple(sorted(name for name, seen in self.views.items() if seen is not None))


class Found(Struct, frozen=True):
    """The disagreements of the name servers of one cluster."""

    brokers: Sequence[Disagreement[BrokerSubject]]
    topics: Sequence[Disagreement[TopicSubject]]
    entries: Sequence[Disagreement[KvSubject]]
    unsettled: int = 0
    """Subjects that are seen differently, perhaps because a change is on its way."""

    @classmethod
    def of(cls, found: Iterable[Disagreement[Any]]) -> "Found":
        """Disagreements about any subjects."""
        every = list(found)
        return cls(
            brokers=[each for each in every if isinstance(each.subject, BrokerSubject)],
            topics=[each for each in every if isinstance(each.subject, TopicSubject)],
            entries=[each for each in every if isinstance(each.subject, KvSubject)],
        )

    @property
    def subjects(self) -> Iterator[Subject]:
        """The subjects of all disagreements."""
        for some in (self.brokers, self.topics, self.entries):
            yield from (each.subject for each in some)


def disagreements(witnesses: Sequence[Witness], at: int) -> Found:
    """Find what the name servers of one cluster disagree about at an instant (wall ms)."""
    found = _Finding(witnesses, at)
    brokers = found.settled(map(BrokerSubject, _brokers(witnesses)))
    topics = found.settled(differing_topics(witnesses, at))
    entries = found.settled(_entries(witnesses, at))
    return Found(brokers, topics, entries, found.unsettled)


class _Finding:
    def __init__(self, witnesses: Sequence[Witness], at: int) -> None:
        self._witnesses, self._at = witnesses, at
        self.unsettled = 0

    def settled(self, subjects: Iterable[S]) -> list[Disagreement[S]]:
        """The disagreements that are more than a change on its way."""
        found: list[Disagreement[S]] = []
        for subject in subjects:
            views = subject.views(self._witnesses, self._at)
            if not differ(views):
                continue
            one = self._disagreement(subject, views)
            if self._is_settled(one):
                found.append(one)
            else:
                self.unsettled += 1
        return found

    def _disagreement(self, subject: S, views: Mapping[str, Seen]) -> Disagreement[S]:
        since = views_since = self._at
        are_same = True
        times = {time for each in self._witnesses for time in subject.times(each) if time <= self._at}
        for time in sorted(times, reverse=True):
            earlier = subject.views(self._witnesses, time)
            if not differ(earlier):
                break
            since = time
            are_same = are_same and earlier == views
            views_since = since if are_same else views_since
        before = subject.views(self._witnesses, since - 1)
        is_known = before.keys() >= subject.views(self._witnesses, since).keys()
        window_ms = max(subject.window_of(each, since) for each in self._witnesses)
        return Disagreement(subject, dict(sorted(views.items())), since, window_ms, is_known, views_since)

    def _is_settled(self, one: Disagreement[S]) -> bool:
        taking_part = [each for each in self._witnesses if each.namesrv in one.views]
        if any(one.subject.key in each.in_question for each in taking_part):
            return False
        delay_ms = max(each.delay_ms(type(one.subject.key)) for each in taking_part)
        return self._at - one.since >= max(SHORTEST_DRIFT_MS, delay_ms)


def differ(views: Mapping[str, Seen]) -> bool:
    """Whether name servers see something differently."""
    return len(set(views.values())) > 1


def _brokers(witnesses: Iterable[Witness]) -> list[BrokerId]:
    return sorted({broker for each in witnesses for broker in each.brokers})


def differing_topics(witnesses: Sequence[Witness], at: int) -> Iterator[TopicSubject]:
    """The topics whose rows differ where the broker name is, sorted."""
    known = [each for each in witnesses if each.has_rows_now]
    rows = [dict(each.history.rows(TopicKey, at)) for each in known]
    names = [each.broker_names for each in known]
    for key in sorted(set().union(*rows), key=_topic_order):
        seen = [held.get(key) for held, own in zip(rows, names, strict=True) if key.broker_name in own]
        if any(row != seen[0] for row in seen):
            yield TopicSubject(key.topic, key.broker_name)


def _topic_order(key: TopicKey) -> tuple[str, str]:
    return key.broker_name, key.topic


def _entries(witnesses: Sequence[Witness], at: int) -> Iterator[KvSubject]:
    keys = {key for each in witnesses if each.has_rows_now for key, _ in each.history.rows(KvKey, at)}
    for namespace, name in sorted((key.namespace, key.key) for key in keys):
        yield KvSubject(namespace, name)
