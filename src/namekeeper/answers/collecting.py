"""Collects the evidence about a topic from the steps of a journal, within a limit of memory.

Peers decide how many sessions a journal has: a broker may register and unregister a hundred times a second.
If the sessions of all brokers do not fit, the journal is read again, and only brokers that had the topic
count. If these do not fit either, the changes nearest to the time in question are kept.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC

from msgspec import Struct, structs

from namekeeper.answers.around import AROUND_MS
from namekeeper.answers.evidence import HOUR_MS, Evidence, evidence_of
from namekeeper.answers.times import shown
from namekeeper.history.history import History
from namekeeper.history.narrowing import BrokersOfTopic, is_later_part_of, narrowed
from namekeeper.journal.contract.activity import Access, UnknownTopicMinute
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Step

__all__ = ["EVIDENCE_BYTES", "Collected", "collect_evidence"]

EVIDENCE_BYTES = 128 * 1024 * 1024
"""Approximate memory of the history about a topic for a command: 40,000 sessions. 1,000 brokers have so many
if each registers anew 40 times in a day. An answer for the page has less."""
BROKER_NAMES_LIMIT = 20_000
"""Brokers that had the topic and lost it, the newest ones: as many as a name server has at a time."""
ACTIVITY_LIMIT = 20_000
"""Records of refused requests and of lookups in the hour before, the newest ones. A name server that is
attacked writes up to 200 and 1,000 of them a minute."""

_Position = tuple[int, int]


class Collected(Struct, frozen=True):
    """The evidence of one name server, and what was left out."""

    evidence: Evidence
    notes: list[str]
    """Lines about what was left out for lack of memory."""


def collect_evidence(
    namesrv: str, topic: str, at: int, steps: Callable[[], Iterable[Step]], limit_bytes: int
) -> Collected:
    """Collect the evidence about a topic for a time.

    Args:
        namesrv: id of the name server.
        topic: its name.
        at: the time in question, wall ms.
        steps: gives the steps of the journal from the start, each time it is called.
        limit_bytes: bounds the memory, about.
    """
    first = _EveryBroker(namesrv, topic, at, limit_bytes)
    for step in steps():
        first.take(step)
    if first.history is not None:
        return Collected(evidence_of(first.history), list(first.notes()))
    second = _ItsBrokers(namesrv, topic, at, limit_bytes, first)
    for step in steps():
        second.take(step)
    evidence = structs.replace(evidence_of(second.history), only_its_brokers=True)
    return Collected(evidence, list(second.notes()))


class _EvidenceReading:
    """One reading of a journal.

    Args:
        topic: its name.
        at: the time in question, wall ms.
        limit_bytes: bounds the memory.
    """

    def __init__(self, topic: str, at: int, limit_bytes: int) -> None:
        self._topic, self._at, self._limit_bytes = topic, at, limit_bytes
        self._has_dropped_activity = False

    def notes(self) -> Iterator[str]:
        """Lines about what was left out."""
        if self._has_dropped_activity:
            yield "there are too many refused requests and lookups without a route: the newest ones count"

    def _apply(self, history: History, step: Step) -> None:
        """Give a step to a history about the topic; keep no activity but that near the time in question."""
        activity = history.activity
        before = len(activity)
        history.take(step)
        if len(activity) > before and not self._is_wanted(activity[-1]):
            activity.pop()
        if len(activity) > ACTIVITY_LIMIT:
            del activity[: ACTIVITY_LIMIT // 10]
            self._has_dropped_activity = True

    def _is_wanted(self, record: Access | UnknownTopicMinute) -> bool:
        """Whether a record is about a refused request, or about lookups of the topic, in the hour before."""
        if isinstance(record, UnknownTopicMinute):
            when, is_evidence = record.minute, record.topic == self._topic
        else:
            when, is_evidence = record.ts, not record.allowed
        return is_evidence and self._at - HOUR_MS <= when <= self._at + AROUND_MS


class _EveryBroker(_EvidenceReading):
    """Reads the sessions of all brokers, as long as they fit, and finds what a second reading needs."""

    def __init__(self, namesrv: str, topic: str, at: int, limit_bytes: int) -> None:
        super().__init__(topic, at, limit_bytes)
        self.history: History | None = History(namesrv, topic)
        """None: the sessions do not fit."""
        self.last_at: _Position = (0, 0)
        """Position of the last step up to the time in question."""
        self.last_needed: _Position = (0, 0)
        """Position of the last step that the answer needs."""
        self._before, self._after = (BrokersOfTopic(topic, BROKER_NAMES_LIMIT) for _ in range(2))
        """The brokers that had the topic up to the time in question, and after it."""
        self._needed_until = at + AROUND_MS
        """The answer needs changes up to this time, wall ms."""
        self._coverage: Coverage = self.history.coverage
        self._is_full = False

    @property
    def brokers(self) -> frozenset[str]:
        """Names of the brokers that had the topic."""
        return frozenset([*self._before.names, *self._after.names])

    def take(self, step: Step) -> None:
        """Follow one step."""
        if is_later_part_of(self._at, step, self._coverage):
            self._needed_until = max(self._needed_until, step.ts)
        is_needed = step.ts <= self._needed_until
        if is_needed:
            self._note_needed(step)
        if self.history is None:
            self._coverage.take(step)
            return
        if self._is_full:
            self.history.pass_over(step)
        else:
            self._apply(self.history, narrowed(step, self._topic))
            self._is_full = self.history.size > self._limit_bytes
        if self._is_full and is_needed:
            self.history = None

    def _note_needed(self, step: Step) -> None:
        position = step.boot, step.seq
        self.last_needed = max(self.last_needed, position)
        if step.ts <= self._at:
            self.last_at = max(self.last_at, position)
            self._before.take(step)
        else:
            self._after.take(step)


class _ItsBrokers(_EvidenceReading):
    """Reads the sessions of brokers that had the topic, up to what the answer needs.

    Up to the time in question, the oldest changes are dropped at half of the limit. The other half is for the
    changes after it: when these do not fit, the rest of them is left out.
    """

    def __init__(self, namesrv: str, topic: str, at: int, limit_bytes: int, found: _EveryBroker) -> None:
        super().__init__(topic, at, limit_bytes)
        self.history = History(namesrv, topic)
        self._brokers = found.brokers
        self._last_at, self._last_needed = found.last_at, found.last_needed
        self._cut_at: int | None = None
        """Changes after this time were left out, wall ms."""

    def take(self, step: Step) -> None:
        """Follow one step."""
        history, position = self.history, (step.boot, step.seq)
        if self._cut_at is not None or position > self._last_needed:
            history.pass_over(step)
            return
        is_after = position > self._last_at
        history.limit_bytes = None if is_after else self._limit_bytes // 2
        self._apply(history, narrowed(step, self._topic, self._brokers, history.present))
        if is_after and history.size > self._limit_bytes:
            self._cut_at = step.ts

    def notes(self) -> Iterator[str]:
        """Lines about what was left out."""
        yield from super().notes()
        yield "there are too many sessions of brokers: only those of brokers that had the topic count"
        if self.history.dropped_until is not None:
            yield f"{_TOO_MANY} up to {shown(self.history.dropped_until, UTC)} are left out"
        if self._cut_at is not None:
            yield f"{_TOO_MANY} after {shown(self._cut_at, UTC)} are left out"


_TOO_MANY = "there are too many changes: those"
