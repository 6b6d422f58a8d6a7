"""The histories that incidents are made of, read from journals; of topics only those rows that they need."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from namekeeper.answers.incidents.differing import TopicRowsSeen, differing_topics
from namekeeper.answers.incidents.lost_topics import KeptRecords, TopicFinder, topics_of_incidents
from namekeeper.clock import Clock, SystemClock
from namekeeper.common.expected import MEMORY_MS
from namekeeper.common.namesrv_clusters import SHARED_MS
from namekeeper.history.history import History
from namekeeper.history.rows import Rows
from namekeeper.history.sources.journal import NO_ROWS, QUIET_MS, one_of_each, written_until
from namekeeper.journal.contract.activity import UnknownTopicMinute
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.record import Record, TopicQueues
from namekeeper.journal.reading.history import Changed, Seen, Step, StepMaker
from namekeeper.journal.reading.open_checkpoint import CheckpointRows
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, notes_of
from namekeeper.model.now import Now

__all__ = ["IncidentJournals", "NamesrvRead"]

_NO_FACT = NO_ROWS - {"unknown_topic_minute"}
"""Kinds of records that are no row, nor about a lookup in vain."""
_NO_PART = _NO_FACT | {"config", "filter_servers", "topic_mapping"}
"""Kinds of records that no incident is made of."""
_NO_TOPICS = _NO_PART | {"topic_queues"}
_BEFORE_MS = max(MEMORY_MS, SHARED_MS)
"""Brokers and topics that were there so long before a time may be missing at it."""


class NamesrvRead(Struct):
    """The history of one name server, as far as it was read."""

    history: History
    """The history; unless every row was wanted, of topics only those rows that incidents need."""
    is_written: bool
    """Whether its name server, or its observer, writes the journal."""
    topics: int
    """How many topics can be written to."""
    up_to: int | None
    """The last instant that counts, wall ms: of all name servers that run the same one."""
    incident_topics: set[str]
    """The topics that incidents may be about, of all name servers."""
    topic_rows: tuple[int, int]
    """How many topics there are, and rows of them on broker names."""


class _FoundTopics(Struct):
    """The topics of one journal that may matter."""

    journal: JournalReader
    begin: int
    """Index of the segment from which on it was read."""
    topics: TopicFinder
    rows: TopicRowsSeen
    until: int | None
    """The last instant that its last record may stand for, wall ms; None: nobody writes the journal."""

    @property
    def is_current(self) -> bool:
        """Whether its last record gives the state of the present."""
        return self.until is not None and self.until <= self.topics.up_to + QUIET_MS


class IncidentJournals:
    """Reads the journals of name servers.

    Args:
        found: where they are, each of another name server.
        progress: called with the name of a journal, the parts read so far, and all parts; None for nothing.
        clock: tells the present; None is the system's.
        is_whole: whether the histories have every row, as for a comparison with an expected state.

    Raises:
        JournalError: one is not a journal, or can't be read.
        ConfigError: two are of one name server.
    """

    def __init__(
        self,
        found: Iterable[FoundJournal],
        progress: Callable[[str, int, int], None] | None = None,
        clock: Clock | None = None,
        *,
        is_whole: bool = False,
    ) -> None:
        self._is_whole = is_whole
        self.notes: list[str] = []
        """Lines about the parts that could not be read."""
        self._clock = _OneInstant((clock or SystemClock()).now())
        journals = [(JournalReader(each, _reported(progress, each)), each) for each in dict.fromkeys(found)]
        one_of_each((journal.namesrv, each) for journal, each in journals)
        self._journals = sorted((journal for journal, _ in journals), key=lambda each: each.namesrv)

    def read(self, since: int) -> list[NamesrvRead]:
        """The histories, by name server.

        Args:
            since: wall ms; incidents from this time on are wanted.
        """
        found = [self._find(journal, since) for journal in self._journals]
        # An observer knows of each name server up to another instant.
        current = [each for each in found if each.is_current]
        present = min((each.until or 0 for each in current), default=0)
        for each in current:
            each.topics.up_to = present
        finders = [each.topics for each in found]
        wanted = topics_of_incidents(finders, max(each.up_to for each in finders))
        read = wanted if self._is_whole else wanted | differing_topics([each.rows for each in found])
        return [self._read(each, wanted, read) for each in found]

    def _read(self, found: _FoundTopics, wanted: set[str], read: set[str]) -> NamesrvRead:
        history = History(found.journal.namesrv)
        for step in self._steps(found.journal, found.begin, read):
            if (step.boot, step.seq) > found.topics.last:
                break
            history.take(step)
        up_to = None if history.coverage.knows_up_to is None else found.topics.up_to
        if found.is_current:
            history.extend(up_to)
        is_written, counts = found.until is not None, found.rows.counts
        return NamesrvRead(history, is_written, found.topics.topics, up_to, wanted, counts)

    def _find(self, journal: JournalReader, since: int) -> _FoundTopics:
        until = written_until(journal.found, self._clock)
        after, since = since, since - _BEFORE_MS
        begin = journal.begin_of(since)
        while True:
            reader = RecordReader(None, NO_ROWS | _NO_PART | {"broker_group", "kv"})
            finder, rows = TopicFinder(), TopicRowsSeen(after)
            for step in _made(journal, reader, begin, KeptRecords):
                finder.take(step)
                rows.take(step)
            finder.finish()
            if begin == 0 or (finder.knows_from is not None and finder.knows_from <= since):
                self.notes += [f"{journal.found}: {note}" for note in notes_of(reader)]
                return _FoundTopics(journal, begin, finder, rows, until)
            begin = journal.checkpoint_before(begin - 1)

    def _steps(self, journal: JournalReader, begin: int, wanted: set[str]) -> Iterator[Step]:
        if self._is_whole:
            steps = _made(journal, RecordReader(None, _NO_FACT), begin, Rows)
        else:
            reader = RecordReader(None, _NO_PART if wanted else _NO_TOPICS)
            steps = _made(journal, reader, begin, lambda: _SomeRows(wanted))
        for step in steps:
            if isinstance(step, Changed) and not self._is_whole:
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
