"""Reads the newest changes of routes from a journal's folder, for watchers that a restart cut off."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from namekeeper.errors import JournalError
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Config, Kv, Record
from namekeeper.journal.contract.skipped import SkippedRecords
from namekeeper.journal.reading.history import (
    Began,
    Changed,
    CheckpointApplied,
    FoundRecord,
    Lost,
    Step,
    steps,
)
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, find_segments
from namekeeper.journal.reading.state import State
from namekeeper.processor.recent_changes import EVERY_TOPIC, Revision, RouteChange, TopicSets, topics_shown
from namekeeper.route.events import ConfigChanged, Event, KvChanged

__all__ = ["LOST", "STARTED", "RecentPart", "RouteChangeFinder", "recent_part"]

STARTED, LOST = "started", "lost"
"""Causes of changes that show in every topic: the name server started, or records were lost."""

READ_BYTES_LIMIT = 32 * 1024 * 1024
"""Bytes of text that are read: about 130,000 records, which take a thread a second or two."""
PACKED_RATIO = 8
"""Length of a compressed segment's text, as a multiple of its file; in fact 8 to 15 times."""
RECORDS_AT_ONCE = 200
"""After this many records the thread pauses, so that the server can answer lookups."""

_ACTIVITY = frozenset({"broker_minute", "lookup_hour", "denied", "unknown_topic_minute"})


class RecentPart(Struct, frozen=True):
    """The changes after a position."""

    floor: Revision
    changes: Sequence[RouteChange]


def recent_part(folder: str, until: Revision, pause: Callable[[], None]) -> RecentPart | None:
    """Read the newest segments of a folder; None if they hold no complete checkpoint before a position.

    Args:
        folder: the folder; a name server may write to it.
        until: changes after this position are left out.
        pause: called now and then.
    """
    try:
        journal = JournalReader(FoundJournal(folder), segments=_newest(folder, find_segments(folder)))
        finder = RouteChangeFinder()
        found = (each for step in steps(_records(journal, pause)) for each in finder.take(step))
        return _part(found, until)
    except (JournalError, OSError):
        return None


class RouteChangeFinder:
    """Finds the changes of routes in the steps of a history, in order; a checkpoint gives a `Revision`.

    A loss has the first position after it: a watcher that saw some of the lost changes must also be told.
    """

    def __init__(self) -> None:
        self._state = State()
        self._has_lost = False

    def take(self, step: Step) -> Iterator[RouteChange | Revision]:
        """Follow a step; yields what it shows in routes."""
        if isinstance(step, Lost):
            self._has_lost = True
            return
        change = _change_of(self._state, step)
        if self._has_lost and not isinstance(step, Began):
            change = _in_every_topic(step, LOST)
        self._has_lost = False
        if change is not None:
            yield change
        if isinstance(step, CheckpointApplied):
            self._state = step.state
            yield Revision(step.boot, step.seq)


def _change_of(state: State, step: Step) -> RouteChange | None:
    """Follow a step; returns its change of routes, if any."""
    if isinstance(step, Began):
        state.restart()
        return _in_every_topic(step, STARTED)
    shown = _applied(state, step.records) if isinstance(step, Changed) else ()
    if shown == () or not isinstance(step, Changed):
        return None
    first = step.records[0]
    return RouteChange(Revision(step.boot, step.seq), step.ts, first.cause, first.peer or None, shown)


def _in_every_topic(step: Step, cause: str) -> RouteChange:
    return RouteChange(Revision(step.boot, step.seq), step.ts, cause, None, EVERY_TOPIC)


def _applied(state: State, records: Sequence[Record]) -> TopicSets:
    """Apply the records of a change; returns the topics that it shows in."""
    found: list[TopicSets] = []
    tables = state.tables

    def note(event: Event) -> None:
        found.append(topics_shown(tables, (event,)))

    tables.on_change = note
    state.apply(records)
    found.append(topics_shown(tables, _beside_the_tables(records)))
    if any(each is EVERY_TOPIC for each in found):
        return EVERY_TOPIC
    return tuple(some for each in found if each is not None for some in each)


def _beside_the_tables(records: Iterable[Record]) -> Iterator[Event]:
    for record in records:
        if isinstance(record, Kv):
            yield KvChanged(record.namespace, record.key, record.value)
        elif isinstance(record, Config):
            yield ConfigChanged(record.properties)


def _part(found: Iterable[RouteChange | Revision], until: Revision) -> RecentPart | None:
    floor: Revision | None = None
    changes = []
    for each in found:
        if isinstance(each, Revision):
            floor = floor or each
        elif floor is not None and each.revision <= until:
            changes.append(each)
    return None if floor is None or floor > until else RecentPart(floor, changes)


def _newest(folder: str, segments: Sequence[SegmentName]) -> list[SegmentName]:
    """The newest segments that may be read, in order."""
    found: list[SegmentName] = []
    left = READ_BYTES_LIMIT
    for name in reversed(segments):
        size = (Path(folder) / str(name)).stat().st_size
        left -= size * PACKED_RATIO if name.form == ".gz" else size
        if left < 0:
            break
        found.append(name)
    return found[::-1]


def _records(journal: JournalReader, pause: Callable[[], None]) -> Iterator[FoundRecord]:
    count = 0
    for record in journal.records(RecordReader(skip=_ACTIVITY)):
        count += record.last.seq - record.first.seq + 1 if isinstance(record, SkippedRecords) else 1
        if count >= RECORDS_AT_ONCE:
            count = 0
            pause()
        yield record
