"""Evidence and states from a journal's folder, open segment included, without Spark and Java.

Only the needed segments are read. A state needs those from the last complete checkpoint before its time. The
history of a topic needs some more time before that; the whole journal is read only if that part does not show
the cause.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC

from msgspec import structs

from namekeeper.answers.collecting import EVIDENCE_BYTES, collect_evidence
from namekeeper.answers.evidence import DAY_MS, Evidence
from namekeeper.answers.render import UncertainChange
from namekeeper.answers.route import uncertain_changes
from namekeeper.answers.times import shown
from namekeeper.clock import Clock, SystemClock
from namekeeper.history.history import History
from namekeeper.history.rows import HistoryEvent
from namekeeper.history.sources.journal import NO_ROWS, goes_on, history_since, part_of, written_until
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.record import BrokerLive, TopicQueues
from namekeeper.journal.reading.history import FoundRecord, Step, StepMaker
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, ReadProgress, notes_of
from namekeeper.journal.reading.replay import Replay, StateAt

__all__ = ["CHANGES_BYTES", "NAMES_LIMIT", "JournalFolder"]

NAMES_LIMIT = 200_000
"""Names among which one like an unknown name is looked for."""

CHANGES_BYTES = 512 * 1024 * 1024
"""Approximate memory of the changes that a command shows: about a million. Peers decide on their number."""

_ONLY_POSITIONS = frozenset(
    {"broker_minute", "clock_changed", "denied", "lookup_hour", "segments_deleted", "server_alive"}
)
"""Kinds of records of which only the position is needed here."""
_NO_STATE = _ONLY_POSITIONS | {"access", "unknown_topic_minute"}
_NO_ROUTE = frozenset({"cluster", "config", "kv"})
_NO_EVIDENCE = _ONLY_POSITIONS | _NO_ROUTE | {"broker_group", "filter_servers", "topic_mapping"}
_NO_TOPIC = _NO_STATE | _NO_ROUTE | {"broker_group", "broker_live"}


class JournalFolder:
    """A journal's folder; each question reads the segments that it needs."""

    def __init__(
        self,
        folder: str | FoundJournal,
        progress: ReadProgress | None = None,
        *,
        limit_bytes: int = EVIDENCE_BYTES,
        clock: Clock | None = None,
    ) -> None:
        """List its segments.

        Args:
            folder: the folder, or what was found there.
            progress: called when a segment was read; None for nothing.
            limit_bytes: bounds the memory of the history that gives evidence, about.
            clock: tells the present; None is the system's.

        Raises:
            JournalError: it is not a journal, or can't be read; the message says what to do.
        """
        found = FoundJournal(folder) if isinstance(folder, str) else folder
        self.place = str(found)
        """The journal's name in messages."""
        self.notes: list[str] = []
        """Lines about the parts that the last answer could not read."""
        self.running_at = written_until(found, clock or SystemClock())
        """The present, if a name server writes here, or the last answer, if an observer does; taken before
        anything is read."""
        self._journal = JournalReader(found, progress)
        self._limit_bytes = limit_bytes

    @property
    def namesrv(self) -> str:
        """Id of the name server that wrote it."""
        return self._journal.namesrv

    def state_at(self, at: int | None, topic: str | None = None) -> StateAt:
        """The state at a time; for a running name server also after its last record.

        Args:
            at: wall ms; None is now if its name server runs, else the end of the journal.
            topic: read the rows of this topic only, which takes a tenth of the time; None reads all.
        """
        begin = self._journal.begin_of(at)
        while True:
            result = self._replay(begin, at, topic)
            knows_from = result.coverage.knows_from
            if begin == 0 or (knows_from is not None and (at is None or knows_from <= at)):
                break
            begin = self._journal.checkpoint_before(begin - 1)
        last = result.coverage.knows_up_to
        now = self.running_at if at is None else at
        if now is None or not self._is_current(now, last):
            return result
        knowledge = result.coverage.at(last) if last is not None else result.knowledge
        return StateAt(now, knowledge, result.state, now, result.coverage)

    def evidence(self, topic: str, at: int | None, back_ms: int = DAY_MS) -> Evidence:
        """The evidence about a topic.

        Args:
            topic: its name, which need not be known.
            at: the time in question, wall ms; None is now if its name server runs, else the end of the
                journal.
            back_ms: how long before that time reading begins; the whole journal is read if that does not
                show the cause.
        """
        end = self._journal.last_ts() if at is None else at
        begin = self._journal.begin_of(end - back_ms)
        evidence = self._collect(begin, topic, end)
        if evidence.dropped_until is not None:
            pass  # earlier changes do not fit either
        elif begin and not evidence.shows_cause(end):
            evidence = self._collect(0, topic, end)
        elif begin and (needed := evidence.needed_from(end)) < end - back_ms:
            evidence = self._collect(self._journal.begin_of(needed), topic, end)
        now = self.running_at if at is None else at
        if now is not None and self._is_current(now, evidence.knows_up_to):
            return structs.replace(evidence, knows_up_to=now)
        return evidence

    def changes(self, name: str | None, begin_at: int, end_at: int) -> list[HistoryEvent]:
        """Changes of the rows about a topic, a broker or an address after a time, up to another.

        If there are too many up to the end of the journal, the oldest are left out.

        Args:
            name: see `History`; None is everything.
            begin_at: wall ms.
            end_at: wall ms.
        """
        return self.about(name, begin_at).changes(begin_at, end_at)

    def about(self, name: str | None, begin_at: int) -> History:
        """The history of a name from a time on, up to now if its name server runs.

        If there are too many changes up to the end of the journal, the oldest are left out.

        Args:
            name: see `History`; None is everything.
            begin_at: wall ms.
        """
        history = self._history(name, begin_at, CHANGES_BYTES)
        dropped = history.dropped_until
        if dropped is not None and dropped >= begin_at:
            until = shown(dropped, UTC)
            self.notes.append(
                f"there are too many changes: those up to {until} are left out; ask about a name"
            )
        return self._up_to_now(history)

    def history(self, at: int | None, back_ms: int) -> History:
        """The history of every row, up to now if its name server runs.

        Args:
            at: the time in question, wall ms; None is the end.
            back_ms: how long before that time the history begins, at the latest.
        """
        end = at if at is not None else self.running_at or self._journal.last_ts()
        return self._up_to_now(self._history(None, end - back_ms))

    def _up_to_now(self, found: History) -> History:
        now, last = self.running_at, found.coverage.knows_up_to
        if now is not None and self._is_current(now, last):
            found.extend(now)
        return found

    def uncertain_changes(self, topic: str, at: int) -> list[UncertainChange]:
        """The changes of a route that may have happened before a time (wall ms) or after it."""
        return uncertain_changes(self._history(topic, at), topic, at)

    def topics(self, back_ms: int = DAY_MS) -> set[str]:
        """Names of topics in the last part of the journal, also of those that are gone.

        At most `NAMES_LIMIT`.

        Args:
            back_ms: how long before its end that part begins.
        """
        records = self._last_records(back_ms, _NO_TOPIC)
        queues = (record for record in records if isinstance(record, TopicQueues))
        return _some(topic for record in queues for topic, *_ in record.rows)

    def brokers(self, back_ms: int = DAY_MS) -> set[str]:
        """Names and addresses of brokers in the last part of the journal, also of those that are gone.

        At most `NAMES_LIMIT`.

        Args:
            back_ms: how long before its end that part begins.
        """
        records = self._last_records(back_ms, _NO_STATE | _NO_ROUTE | {"topic_queues"})
        live = (record for record in records if isinstance(record, BrokerLive))
        return _some(name for record in live for name in (record.broker_name, record.broker_addr) if name)

    def _history(self, about: str | None, since: int, limit_bytes: int | None = None) -> History:
        def steps_from(begin: int) -> Iterator[Step]:
            return self._steps(begin, about, NO_ROWS)

        return history_since(self._journal, since, steps_from, about, limit_bytes=limit_bytes)

    def _is_current(self, at: int, last: int | None) -> bool:
        """Whether the last record gives the state at a later time: its writer runs and wrote recently."""
        if last is None or self.running_at is None:
            return False
        return at <= self.running_at and goes_on(last, at)

    def _replay(self, begin: int, at: int | None, topic: str | None) -> StateAt:
        replay, maker = Replay(at), StepMaker()
        for record in self._records(begin, RecordReader(topic, _NO_STATE)):
            for step in maker.follow(record):
                replay.take(step)
        for step in maker.finish():
            replay.take(step)
        return replay.result()

    def _collect(self, begin: int, topic: str, at: int) -> Evidence:
        def steps() -> Iterator[Step]:
            return self._steps(begin, topic, _NO_EVIDENCE)

        found = collect_evidence(self.namesrv, topic, at, steps, self._limit_bytes)
        self.notes += found.notes
        return found.evidence

    def _steps(self, begin: int, about: str | None, without: frozenset[str]) -> Iterator[Step]:
        """The steps from a segment on, without the records of some kinds."""
        self.notes.clear()
        reader = RecordReader(about, without)
        yield from part_of(self._journal, reader, begin)
        self.notes += notes_of(reader)

    def _records(self, begin: int, reader: RecordReader) -> Iterator[FoundRecord]:
        self.notes.clear()
        yield from self._journal.records(reader, begin)
        self.notes += notes_of(reader)

    def _last_records(self, back_ms: int, without: frozenset[str]) -> Iterator[FoundRecord]:
        """The records of the last part, without those of some kinds."""
        yield from self._records(
            self._journal.begin_of(self._journal.last_ts() - back_ms), RecordReader(None, without)
        )


def _some(names: Iterable[str]) -> set[str]:
    """The first names, each once: so many that their memory is bounded."""
    found: set[str] = set()
    for name in names:
        found.add(name)
        if len(found) == NAMES_LIMIT:
            break
    return found
