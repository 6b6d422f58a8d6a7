"""Evidence and states from a journal's folder, open segment included, without Spark and Java.

Only the needed segments are read. A state needs those from the last complete checkpoint before its time. The
history of a topic needs some more time before that; the whole journal is read only if that part does not show
the cause.
"""

from collections.abc import Callable, Iterator

from msgspec import structs

from namekeeper.answers.collector import EvidenceCollector
from namekeeper.answers.evidence import DAY_MS, Evidence
from namekeeper.answers.row_changes import HistoryEvent, RowChanges
from namekeeper.clock import Clock, SystemClock
from namekeeper.common.counts import shown_count
from namekeeper.journal.contract.decode import LineProblem, RecordReader
from namekeeper.journal.contract.lines import Line
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import BrokerLive, TopicQueues
from namekeeper.journal.disk.lock import is_locked
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import FoundRecord, Step, StepMaker
from namekeeper.journal.reading.reader import (
    CanSkip,
    FoundJournal,
    find_segments,
    has_kind,
    never_skip,
    read_segment_lines,
    read_segment_records,
)
from namekeeper.journal.reading.replay import Replay, StateAt

__all__ = ["QUIET_MS", "JournalFolder", "Progress"]

QUIET_MS = 90_000
"""A running name server writes at least one record in each minute; if it did not, its disk may be full."""

_ONLY_POSITIONS = frozenset(
    {"broker_minute", "clock_changed", "denied", "lookup_hour", "segments_deleted", "server_alive"}
)
"""Kinds of records of which only the position is needed here."""
_NO_STATE = _ONLY_POSITIONS | {"access", "unknown_topic_minute"}
_NO_ROUTE = frozenset({"cluster", "config", "kv"})
_NO_TOPIC = _NO_STATE | _NO_ROUTE | {"broker_group", "broker_live"}

Progress = Callable[[int, int], None]
"""Called with the number of segments read so far, and of all segments to read."""


class JournalFolder:
    """A journal's folder; each question reads the segments that it needs."""

    def __init__(
        self,
        folder: str | FoundJournal,
        progress: Progress | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        """List its segments.

        Args:
            folder: the folder, or what was found there.
            progress: called when a segment was read; None for nothing.
            clock: tells the present; None is the system's.

        Raises:
            JournalError: it is not a journal, or can't be read; the message says what to do.
        """
        found = FoundJournal(folder) if isinstance(folder, str) else folder
        self.folder, self._system = found.folder, found.system
        self.place = str(found)
        """Its name in messages."""
        self.notes: list[str] = []
        """What the last answer could not read."""
        is_running = is_locked(found.folder) if found.is_running is None else found.is_running
        self._running_at = (clock or SystemClock()).now().wall_ms if is_running else None
        """The present, if a name server writes here; taken before anything is read."""
        self._segments = find_segments(found.folder, found.writer, system=found.system)
        self._progress = progress

    @property
    def namesrv(self) -> str:
        """Id of the name server that wrote it."""
        return self._segments[0].namesrv

    def state_at(self, at: int | None, topic: str | None = None) -> StateAt:
        """The state at a time; for a running name server also after its last record.

        Args:
            at: wall ms; None is now if its name server runs, else the end of the journal.
            topic: read the rows of this topic only, which takes a tenth of the time; None reads all.
        """
        begin = self._begin(at)
        while True:
            result = self._replay(begin, at, topic)
            knows_from = result.coverage.knows_from
            if begin == 0 or (knows_from is not None and (at is None or knows_from <= at)):
                break
            begin = self._checkpoint_before(begin - 1)
        last = result.coverage.knows_up_to
        now = self._running_at if at is None else at
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
        end = self._last_ts() if at is None else at
        begin = self._begin(end - back_ms)
        evidence = self._collect(begin, topic)
        if begin and not evidence.shows_cause(end):
            evidence = self._collect(0, topic)
        now = self._running_at if at is None else at
        if now is not None and self._is_current(now, evidence.knows_up_to):
            return structs.replace(evidence, knows_up_to=now)
        return evidence

    def changes(self, name: str | None, begin_at: int, end_at: int) -> list[HistoryEvent]:
        """Changes of the rows about a topic, a broker or an address after a time, up to another.

        Args:
            name: see `RowChanges`; None is everything.
            begin_at: wall ms.
            end_at: wall ms.
        """
        begin = self._begin(begin_at)
        while True:
            changes, coverage = RowChanges(self.namesrv, name), Coverage()
            for step in self._steps(begin, RecordReader(name, _NO_STATE | {"cluster"})):
                changes.take(step)
                coverage.take(step)
            if begin == 0 or (coverage.knows_from is not None and coverage.knows_from <= begin_at):
                return changes.result(begin_at, end_at)
            begin = self._checkpoint_before(begin - 1)

    def topics(self, back_ms: int = DAY_MS) -> set[str]:
        """Names of all topics in the last part of the journal, also of those that are gone.

        Args:
            back_ms: how long before its end that part begins.
        """
        records = self._last_records(back_ms, _NO_TOPIC)
        return {row[0] for record in records if isinstance(record, TopicQueues) for row in record.rows}

    def brokers(self, back_ms: int = DAY_MS) -> set[str]:
        """Names and addresses of all brokers in the last part of the journal, also of those that are gone.

        Args:
            back_ms: how long before its end that part begins.
        """
        records = self._last_records(back_ms, _NO_STATE | _NO_ROUTE | {"topic_queues"})
        live = [record for record in records if isinstance(record, BrokerLive)]
        return {name for record in live for name in (record.broker_name, record.broker_addr) if name}

    def _is_current(self, at: int, last: int | None) -> bool:
        """Whether the last record gives the state at a later time: its writer runs and wrote recently."""
        if last is None or self._running_at is None:
            return False
        return last < at <= self._running_at and at - last <= QUIET_MS

    def _replay(self, begin: int, at: int | None, topic: str | None) -> StateAt:
        replay, maker = Replay(at), StepMaker()
        for record in self._records(begin, RecordReader(topic, _NO_STATE)):
            for step in maker.follow(record):
                replay.take(step)
        for step in maker.finish():
            replay.take(step)
        return replay.result()

    def _collect(self, begin: int, topic: str) -> Evidence:
        collector = EvidenceCollector(self.namesrv, topic)
        for step in self._steps(begin, RecordReader(topic, _ONLY_POSITIONS | _NO_ROUTE)):
            collector.take(step)
        return collector.result()

    def _steps(self, begin: int, reader: RecordReader) -> Iterator[Step]:
        """The steps from a segment on, without the rows of checkpoints that say nothing new."""
        maker = StepMaker()
        for record in self._records(begin, reader, maker.can_skip):
            yield from maker.follow(record)
        yield from maker.finish()

    def _records(
        self, begin: int, reader: RecordReader, can_skip: CanSkip = never_skip
    ) -> Iterator[FoundRecord]:
        self.notes.clear()
        total = len(self._segments) - begin
        for done, name in enumerate(self._segments[begin:]):
            self._report_progress(done, total)
            yield from read_segment_records(self.folder, name, reader, can_skip, system=self._system)
        self._report_progress(total, total)
        self.notes += notes_of(reader)

    def _last_records(self, back_ms: int, without: frozenset[str]) -> Iterator[FoundRecord]:
        """The records of the last part, without those of some kinds."""
        yield from self._records(self._begin(self._last_ts() - back_ms), RecordReader(None, without))

    def _lines(self, name: SegmentName) -> Iterator[Line]:
        return read_segment_lines(self.folder, name, system=self._system)

    def _report_progress(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def _begin(self, at: int | None) -> int:
        """Index of the segment in which the last checkpoint before a time begins, by first times."""
        low, high = 0, len(self._segments) - 1
        while at is not None and low < high:
            middle = (low + high + 1) // 2
            first_ts = self._first_ts(middle)
            if first_ts is not None and first_ts > at:
                high = middle - 1
            else:
                low = middle
        return self._checkpoint_before(high)

    def _checkpoint_before(self, index: int) -> int:
        """Index of the newest segment up to this one in which a checkpoint begins; 0 if there is none."""
        for at in range(index, 0, -1):
            if has_kind(self.folder, self._segments[at], "checkpoint_begin", system=self._system):
                return at
        return 0

    def _first_ts(self, index: int) -> int | None:
        reader = RecordReader()
        name = self._segments[index]
        for line in self._lines(name):
            record = reader(line, name)
            if record is not None:
                return record.ts
        return None

    def _last_ts(self) -> int:
        reader = RecordReader("")
        for name in reversed(self._segments):
            records = (reader(line, name) for line in self._lines(name))
            found = [record.ts for record in records if record is not None]
            if found:
                return found[-1]
        return 0


def notes_of(reader: RecordReader) -> Iterator[str]:
    """Lines about what a reader could not read."""
    for problem, count in reader.unreadable.items():
        yield f"{shown_count(count, 'line', 'are')} {problem} and not read{_advice(problem)}"
    if reader.first_unreadable is not None:
        yield f"the first of them: line {reader.first_unreadable.number}: {reader.first_unreadable.detail}"
    for kind, count in reader.unknown_kinds.items():
        yield f"{shown_count(count, 'record', 'are')} of the unknown kind {kind!r}, and ignored"


def _advice(problem: LineProblem) -> str:
    return "; use a newer namekeeper" if problem is LineProblem.NEWER else ""
