"""Reads a journal's folder, and then at each call what was written since."""

import zlib
from collections.abc import Callable, Iterator
from itertools import groupby

from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.lines import LINE_LIMIT, Line, read_envelope, split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.skipped import SkippedRecords
from namekeeper.journal.disk.lock import is_locked
from namekeeper.journal.disk.segment import read_segment
from namekeeper.journal.reading.history import (
    AnyRecord,
    Began,
    CheckpointApplied,
    Lost,
    Seen,
    Step,
    StepMaker,
)
from namekeeper.journal.reading.open_checkpoint import CheckpointRows
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, notes_of
from namekeeper.journal.reading.state import State

__all__ = ["JournalFollower"]

_ONLY_POSITIONS = frozenset(
    {
        "access", "broker_minute", "cluster", "clock_changed", "denied", "lookup_hour", "segments_deleted",
        "server_alive", "unknown_topic_minute",
    }
)  # fmt: skip
"""Kinds that make no row of a route."""

_CHECKPOINT = b'"checkpoint":'
_BEFORE = 500
"""The member of the envelope is within this many bytes."""
_END = b'{"kind":"checkpoint_end"'


class JournalFollower:
    """Gives the steps of a journal, each once."""

    def __init__(
        self,
        found: FoundJournal,
        make_rows: Callable[[], CheckpointRows] = State,
        *,
        begins_late: bool = False,
    ) -> None:
        """List its segments.

        Args:
            found: where it is.
            make_rows: makes the empty rows of a checkpoint.
            begins_late: whether it begins with the segment of the last checkpoint instead of the first one.

        Raises:
            JournalError: it is not a journal, is empty, or can't be read; the message says what to do.
        """
        self.found = found
        journal = JournalReader(found)
        self.namesrv = journal.namesrv
        self.progress = (0, 1)
        """Segments that were read, and all segments."""
        self._count = self._left = 0
        """All segments, and those that are left to read, with the one that is being read."""
        self._maker = StepMaker(make_rows)
        self._reader = RecordReader(None, _ONLY_POSITIONS)
        self._at: tuple[int, int] = (0, 0)
        """Boot and first seq of the segment that was read last."""
        if begins_late:
            first = journal.segments[journal.checkpoint_before(len(journal.segments) - 1)]
            self._at = first.boot, first.first_seq
        self._offset = 0
        """Bytes of its text that were read."""
        self._torn: tuple[int, int] = (0, 0)
        """The segment whose data were last found broken."""
        self._knows = False
        """Whether a checkpoint of this boot was read: later ones contain nothing new."""
        self._skipped: set[tuple[int, int]] = set()
        """(boot, seq of `checkpoint_begin`) of checkpoints whose rows were not read."""

    @property
    def notes(self) -> list[str]:
        """The lines that the reader could not read, as text."""
        return [f"{self.found}: {note}" for note in notes_of(self._reader)]

    def is_written(self) -> bool:
        """Whether a name server writes to it now.

        If no name server writes, the test takes the lock for some microseconds. A name server that starts
        just then has to try again. So don't ask in every round.
        """
        return is_locked(self.found.folder)

    def new_steps(self) -> Iterator[Step]:
        """The steps since the last call; this may read a segment while the name server writes it.

        Raises:
            JournalError: the folder can't be read.
            OSError: a segment can't be read.
        """
        journal = JournalReader(self.found, self._note_progress)
        self._count = len(journal.segments)
        begin = sum((name.boot, name.first_seq) < self._at for name in journal.segments)
        try:
            for records in journal.read_each(self._records, begin):
                for record in records:
                    yield from self._steps(record)
        except FileNotFoundError:
            return  # sealed or deleted meanwhile: the next call finds what there is then

    def _note_progress(self, done: int, total: int) -> None:
        self._left = total - done
        self.progress = (self._count - self._left, self._count)

    def end_steps(self) -> list[Step]:
        """The steps that wait for a checkpoint, once no name server writes that could complete it."""
        return self._maker.finish()

    def _steps(self, record: AnyRecord | SkippedRecords) -> Iterator[Step]:
        for step in self._maker.follow(record):
            if isinstance(step, CheckpointApplied) and (step.boot, step.seq) in self._skipped:
                self._skipped.discard((step.boot, step.seq))
                yield Seen(step.boot, step.seq, step.ts, None)
                continue
            if isinstance(step, CheckpointApplied):
                self._knows = True
            elif isinstance(step, Lost | Began):
                self._knows = False
            yield step

    def _records(self, name: SegmentName) -> Iterator[AnyRecord | SkippedRecords]:
        if (name.boot, name.first_seq) != self._at:
            self._at, self._offset = (name.boot, name.first_seq), 0
        chunks = self._unread(name)
        lines = self._until_torn(split_lines(self._counted(chunks, is_last=self._left == 1)))
        for is_row, some in groupby(lines, self._is_skipped_row):
            if is_row:
                yield from (found for line in some if (found := self._envelope(line, name)) is not None)
            else:
                yield from self._reader.read(some, name)

    def _until_torn(self, lines: Iterator[Line]) -> Iterator[Line]:
        """The same lines; where the compressed data are broken, a torn line once."""
        number = 0
        try:
            for line in lines:
                number = line.number
                yield line
        except (EOFError, zlib.error) as error:
            if self._torn != self._at:
                self._torn = self._at
                yield Line(number + 1, b"", f"torn: {error}")

    def _is_skipped_row(self, line: Line) -> bool:
        """Whether a line is a row of a checkpoint that contains nothing new."""
        return self._knows and not line.problem and _is_row(line.data)

    def _envelope(self, line: Line, name: SegmentName) -> AnyRecord | None:
        envelope = read_envelope(line, name)
        if isinstance(envelope, str):
            return self._reader(line, name)  # the reader counts its problem
        self._skipped.add((envelope.boot, envelope.checkpoint))
        return envelope

    def _unread(self, name: SegmentName) -> Iterator[bytes]:
        """The text of a segment that was not read before."""
        read = self._offset
        for chunk in read_segment(self.found.folder, name):
            part = chunk[read:]
            read -= len(chunk) - len(part)
            if part:
                yield part

    def _counted(self, chunks: Iterator[bytes], *, is_last: bool) -> Iterator[bytes]:
        """The same text, counted as read; for the last segment, without a line that has no end yet."""
        rest = b""
        for chunk in chunks:
            full, feed, rest = (rest + chunk).rpartition(b"\n")
            if len(rest) > LINE_LIMIT:  # no record: it is read as one that is too long
                full, feed, rest = full + feed + rest, b"", b""
                self._offset += len(full)
                yield full
            if feed:
                self._offset += len(full) + 1
                yield full + feed
        if rest and not is_last:
            self._offset += len(rest)
            yield rest


def _is_row(data: bytes) -> bool:
    """Whether a line is a row of a checkpoint: within a text a quotation mark would be escaped."""
    return data.find(_CHECKPOINT, 0, _BEFORE) > 0 and not data.startswith(_END)
