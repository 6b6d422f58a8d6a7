"""The histories that incidents are made of, read from journals; of topics only those rows that they need."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from namekeeper.answers.incidents.lost_topics import KeptRecords, TopicFinder, topics_of_incidents
from namekeeper.clock import Clock, SystemClock
from namekeeper.common.expected import MEMORY_MS
from namekeeper.common.namesrv_clusters import SHARED_MS
from namekeeper.history.history import History
from namekeeper.history.rows import Rows
from namekeeper.history.sources.journal import NO_ROWS, goes_on, one_of_each, written_until
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.record import Record, TopicQueues, UnknownTopicMinute
from namekeeper.journal.reading.history import Changed, Seen, Step, StepMaker
from namekeeper.journal.reading.open_checkpoint import CheckpointRows
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, notes_of
from namekeeper.model.now import Now

__all__ = ["IncidentJournals", "NamesrvRead"]

_NO_PART = (NO_ROWS - {"unknown_topic_minute"}) | {"config", "filter_servers", "kv", "topic_mapping"}
"""Kinds of records that no incident is made of."""
_NO_TOPICS = _NO_PART | {"topic_queues"}
_BEFORE_MS = max(MEMORY_MS, SHARED_MS)
"""Brokers and topics that were there so long before a time may be missing at it."""


class NamesrvRead(Struct):
    """The history of one name server, as far as it was read."""

    history: History
    """The history; of topics it has only those rows that incidents need."""
    is_written: bool
    """Whether its name server, or its observer, writes the journal."""
    topics: int
    """How many topics can be written to."""


class IncidentJournals:
    """Reads the journals of name servers.

    Args:
        found: where they are, each of another name server.
        progress: called with the name of a journal, the parts read so far, and all parts; None for nothing.
        clock: tells the present; None is the system's.

    Raises:
        JournalError: one is not a journal, or can't be read.
        ConfigError: two are of one name server.
    """

    def __init__(
        self,
        found: Iterable[FoundJournal],
        progress: Callable[[str, int, int], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.notes: list[str] = []
        """Lines about the parts that could not be read."""
        self._clock = _OneInstant((clock or SystemClock()).now())
        journals = [(JournalReader(each, _reported(progress, each)), each) for each in dict.fromkeys(found)]
        one_of_each((journal.namesrv, each) for journal, each in journals)
        self._journals = sorted((journal for journal, _ in journals), key=lambda each: each.namesrv)

    @property
    def now(self) -> int:
        """The present, wall ms."""
        return self._clock.now().wall_ms

    def read(self, since: int) -> list[NamesrvRead]:
        """The histories, by name server.

        Args:
            since: wall ms; incidents from this time on are wanted.
        """
        running = [written_until(journal.found, self._clock) for journal in self._journals]
        found = [self._find(journal, since - _BEFORE_MS) for journal in self._journals]
        horizon = max(until or finder.up_to for until, (finder, _) in zip(running, found, strict=True))
        wanted = topics_of_incidents([finder for finder, _ in found], horizon)
        every: list[NamesrvRead] = []
        for journal, until, (finder, begin) in zip(self._journals, running, found, strict=True):
            history = History(journal.namesrv)
            for step in self._steps(journal, begin, wanted):
                if (step.boot, step.seq) > finder.last:
                    break
                history.take(step)
            last = history.coverage.knows_up_to
            if last is not None and until is not None and goes_on(last, until):
                history.extend(until)
            every.append(NamesrvRead(history, until is not None, finder.topics))
        return every

    def _find(self, journal: JournalReader, since: int) -> tuple[TopicFinder, int]:
        """The topics of incidents, and the segment from which on the journal was read."""
        begin = journal.begin_of(since)
        while True:
            reader = RecordReader(None, NO_ROWS | _NO_PART | {"broker_group"})
            finder = TopicFinder()
            for step in _made(journal, reader, begin, KeptRecords):
                finder.take(step)
            finder.finish()
            if begin == 0 or (finder.knows_from is not None and finder.knows_from <= since):
                self.notes += [f"{journal.found}: {note}" for note in notes_of(reader)]
                return finder, begin
            begin = journal.checkpoint_before(begin - 1)

    def _steps(self, journal: JournalReader, begin: int, wanted: set[str]) -> Iterator[Step]:
        reader = RecordReader(None, _NO_PART if wanted else _NO_TOPICS)
        for step in _made(journal, reader, begin, lambda: _SomeRows(wanted)):
            if isinstance(step, Changed):
                records = _only(step.records, wanted)
                position = step.boot, step.seq, step.ts
                yield Changed(*position, records) if records else Seen(*position, None)
            elif isinstance(step, Seen) and isinstance(step.record, UnknownTopicMinute):
                yield step if step.record.topic in wanted else Seen(step.boot, step.seq, step.ts, None)
            else:
                yield step


class _SomeRows(Rows):
    """The rows of a checkpoint, but those of other topics."""

    def __init__(self, wanted: set[str]) -> None:
        super().__init__()
        self._wanted = wanted

    def apply(self, records: Iterable[Record]) -> None:
        super().apply(_only(records, self._wanted))


def _only(records: Iterable[Record], wanted: set[str]) -> list[Record]:
    """The records without the rows of other topics."""
    found: list[Record] = []
    for record in records:
        if isinstance(record, TopicQueues):
            record.rows = [row for row in record.rows if row[0] in wanted]
            if not record.rows:
                continue
        found.append(record)
    return found


def _made(
    journal: JournalReader, reader: RecordReader, begin: int, make_state: Callable[[], CheckpointRows]
) -> Iterator[Step]:
    maker = StepMaker(make_state)
    for record in journal.records(reader, begin, maker.can_skip):
        yield from maker.follow(record)
    yield from maker.finish()


def _reported(
    progress: Callable[[str, int, int], None] | None, found: FoundJournal
) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(str(found), done, total)


class _OneInstant:
    """A clock that stands still: all journals are read for one present."""

    def __init__(self, now: Now) -> None:
        self._now = now

    def now(self) -> Now:
        """The instant."""
        return self._now
