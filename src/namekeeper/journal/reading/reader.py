"""Reads the lines of a journal's folder in order, from sealed and open segments, also while a server writes.

A reader changes nothing and takes no lock. It returns an unreadable part as a line with a problem. The seq of
the records shows the missing ones.
"""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from namekeeper.common.counts import shown_count
from namekeeper.errors import JournalError
from namekeeper.files import Os
from namekeeper.journal.contract.blocks import Block, BlockSummary
from namekeeper.journal.contract.decode import LineProblem, RecordReader
from namekeeper.journal.contract.lines import Line, split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import CheckpointBegin, Envelope, Record
from namekeeper.journal.contract.skipped import SkippedRecords
from namekeeper.journal.disk.folder import list_segments
from namekeeper.journal.disk.identity import IDENTITY_FILE, load_identity
from namekeeper.journal.disk.last_boot import load_last_boot
from namekeeper.journal.disk.recovery import is_of
from namekeeper.journal.disk.segment import read_parts, read_segment

__all__ = [
    "CanSkip",
    "FoundJournal",
    "JournalReader",
    "ReadProgress",
    "always_skip",
    "find_foreign",
    "find_journals",
    "find_segments",
    "has_kind",
    "never_skip",
    "notes_of",
    "read_segment_lines",
]

T = TypeVar("T")

_CHECKPOINT = b'{"kind":"checkpoint_begin"'

CanSkip = Callable[[BlockSummary, int], bool]
"""Whether a block of a boot says nothing that is not known; asked when the records before it were taken."""

ReadText = Callable[..., Iterator[bytes]]
"""Gives the text of a segment in chunks, as `read_segment` does."""

ReadProgress = Callable[[int, int], None]
"""Called with the number of segments read so far, and of all segments to read."""


class FoundJournal(Struct, frozen=True):
    """Where a journal is."""

    folder: str
    writer: str | None = None
    """`<id of the name server>-<eight digits>` if the folder has segments of several journals."""
    system: Os = os
    """Reads its files."""
    is_running: bool | None = None
    """Whether a name server writes there; None: a lock in the folder says so."""
    place: str = ""
    """Name of the journal in messages, if that is not its folder."""

    def __str__(self) -> str:
        place = self.place or self.folder
        return place if self.writer is None else f"{place} ({self.writer})"


def find_journals(folder: str, *, system: Os = os) -> list[FoundJournal]:
    """The journals in a folder: the folder itself, journals shipped into it, or those in folders below it.

    If there is none, the folder itself is returned: `find_segments` then says what is wrong with it.
    """
    found = _journals_in(folder, system)
    if not found:
        with suppress(OSError):
            names = sorted(system.listdir(folder))
            found = [each for name in names for each in _journals_in(str(Path(folder) / name), system)]
    return found or [FoundJournal(folder)]


def _journals_in(folder: str, system: Os) -> list[FoundJournal]:
    try:
        if IDENTITY_FILE in system.listdir(folder):
            return [FoundJournal(folder)]
        writers = sorted({_writer(name) for name in list_segments(folder, system=system)})
    except OSError:
        return []
    if len(writers) == 1:
        return [FoundJournal(folder)]
    return [FoundJournal(folder, writer) for writer in writers]


def _writer(name: SegmentName) -> str:
    return f"{name.namesrv}-{name.uuid8}"


def find_segments(folder: str, writer: str | None = None, *, system: Os = os) -> list[SegmentName]:
    """Segments of a journal in order, each once: one that is open and sealed is listed as sealed.

    A folder without identity.json, as shipping makes it, is read too, if one journal's segments are in it or
    `writer` names one of them (`FoundJournal.writer`).

    Raises:
        JournalError: It is not a journal, is empty, or can't be read; the message says what to do.
    """
    try:
        found = list_segments(folder, system=system)
        identity = load_identity(folder, system=system)
    except OSError as error:
        raise JournalError(f"can't read {folder}: {error.strerror or error}") from None
    if identity is not None:
        found = [name for name in found if is_of(name, identity)]
    if writer is not None:
        found = [name for name in found if _writer(name) == writer]
    writers = sorted({_writer(name) for name in found})
    if len(writers) > 1:
        raise JournalError(
            f"{folder} holds segments of {len(writers)} journals ({', '.join(writers[:3])}) and no"
            " identity.json: put each into a folder of its own"
        )
    if not found:
        raise JournalError(_nothing_in(folder, system, is_journal=identity is not None))
    sealed = {(name.boot, name.first_seq) for name in found if not name.is_open}
    return [name for name in found if not name.is_open or (name.boot, name.first_seq) not in sealed]


def find_foreign(folder: str, *, system: Os = os) -> list[SegmentName]:
    """Segments beside a journal that another one wrote: nothing reads them.

    Raises:
        JournalError: identity.json is not valid.
        OSError: The folder can't be read.
    """
    identity = load_identity(folder, system=system)
    if identity is None:
        return []
    return [name for name in list_segments(folder, system=system) if not is_of(name, identity)]


class JournalReader:
    """The segments that a journal has now, and the one loop that reads them.

    Args:
        found: where the journal is.
        progress: called before each segment, and after the last one; None for nothing.
        segments: those to read, in order; None finds those of the journal.

    Raises:
        JournalError: It is not a journal, is empty, or can't be read; the message says what to do.
    """

    def __init__(
        self,
        found: FoundJournal,
        progress: ReadProgress | None = None,
        *,
        segments: Sequence[SegmentName] | None = None,
    ) -> None:
        self.found = found
        if segments is None:
            segments = find_segments(found.folder, found.writer, system=found.system)
        self.segments = segments
        self._progress = progress

    @property
    def namesrv(self) -> str:
        """Id of the name server that wrote it."""
        return self.segments[0].namesrv

    def read_each(self, read: Callable[[SegmentName], T], begin: int = 0) -> Iterator[T]:
        """The results of a function for each segment from an index on, in order."""
        total = len(self.segments) - begin
        for done, name in enumerate(self.segments[begin:]):
            self._report(done, total)
            yield read(name)
        self._report(total, total)

    def records(
        self, reader: RecordReader, begin: int = 0, can_skip: CanSkip | None = None
    ) -> Iterator[Record | Envelope | SkippedRecords | BlockSummary]:
        """The records of the segments from an index on, as `RecordReader.read` gives them.

        Of a block that can be skipped, the summary is returned.

        Args:
            reader: decodes the lines.
            begin: index of the first segment.
            can_skip: asked about blocks of which the reader wants only the positions; None reads every block.
        """
        skip = can_skip or never_skip
        return chain.from_iterable(self.read_each(lambda name: self.records_of(name, reader, skip), begin))

    def records_of(
        self, name: SegmentName, reader: RecordReader, can_skip: CanSkip
    ) -> Iterator[Record | Envelope | SkippedRecords | BlockSummary]:
        """The records of one segment, see `records`.

        Unreadable parts, and segments that are sealed or deleted meanwhile, have the effect that
        `read_segment_lines` describes.
        """
        if name.is_open:
            yield from reader.read(self.lines_of(name), name)
            return
        number = 0
        try:
            for part in read_parts(self.found.folder, name, system=self.found.system):
                if isinstance(part, Block):
                    if reader.can_skip(part.summary) and can_skip(part.summary, name.boot):
                        yield part.summary
                    else:
                        yield from reader.read_block(part, number, name)
                    number += part.summary.lines
                else:
                    yield from reader.read(_until_broken(part, number), name)
        except FileNotFoundError:
            return
        except (OSError, EOFError, zlib.error) as error:
            yield from reader.read([_torn(number + 1, error)], name)

    def lines(self, begin: int = 0) -> Iterator[tuple[SegmentName, Line]]:
        """The lines of the segments from an index on, each with its segment."""
        of_each = self.read_each(lambda name: ((name, line) for line in self.lines_of(name)), begin)
        return chain.from_iterable(of_each)

    def lines_of(self, name: SegmentName, read: ReadText = read_segment) -> Iterator[Line]:
        """The lines of one segment, see `read_segment_lines`."""
        return read_segment_lines(self.found.folder, name, system=self.found.system, read=read)

    def begin_of(self, at: int | None) -> int:
        """Index of the segment in which the last checkpoint before a time begins, by first times.

        Args:
            at: wall ms; None is the end of the journal.
        """
        low, high = 0, len(self.segments) - 1
        while at is not None and low < high:
            middle = (low + high + 1) // 2
            first_ts = self._first_ts(self.segments[middle])
            if first_ts is not None and first_ts > at:
                high = middle - 1
            else:
                low = middle
        return self.checkpoint_before(high)

    def checkpoint_before(self, index: int) -> int:
        """Index of the newest segment up to this one in which a checkpoint begins; 0 if there is none."""
        folder, system = self.found.folder, self.found.system
        before = range(index, 0, -1)
        found = (
            at for at in before if has_kind(folder, self.segments[at], "checkpoint_begin", system=system)
        )
        return next(found, 0)

    def cluster_label(self) -> str:
        """Label of the cluster of name servers in the last checkpoint; empty: none."""
        if not self.segments:
            return ""
        name = self.segments[self.checkpoint_before(len(self.segments) - 1)]
        reader = RecordReader("")
        records = (reader(line, name) for line in self.lines_of(name) if line.data.startswith(_CHECKPOINT))
        found = [each.cluster_label for each in records if isinstance(each, CheckpointBegin)]
        return found[-1] if found else ""

    def last_ts(self) -> int:
        """Wall ms of the last record; 0 if there is none."""
        reader = RecordReader("")
        for name in reversed(self.segments):
            records = (reader(line, name) for line in self.lines_of(name))
            found = [record.ts for record in records if record is not None]
            if found:
                return found[-1]
        return 0

    def _first_ts(self, name: SegmentName) -> int | None:
        reader = RecordReader()
        records = (reader(line, name) for line in self.lines_of(name))
        return next((record.ts for record in records if record is not None), None)

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)


def read_segment_lines(
    folder: str, name: SegmentName, *, system: Os = os, read: ReadText = read_segment
) -> Iterator[Line]:
    """Lines of a segment; if a part can't be read, the last line says why.

    If an open segment is sealed meanwhile, the sealed one is read. A deleted segment has no lines.

    Args:
        folder: the journal's folder.
        name: the segment.
        system: reads the file.
        read: gives its text.
    """
    number = 0
    try:
        for line in split_lines(read(folder, name, system=system)):
            number = line.number
            yield line
    except FileNotFoundError:
        if number:
            return
        for other in list_segments(folder, system=system):
            if not other.is_open and (other.boot, other.first_seq) == (name.boot, name.first_seq):
                yield from read_segment_lines(folder, other, system=system, read=read)
                return
    except (OSError, EOFError, zlib.error) as error:
        yield _torn(number + 1, error)


def never_skip(_block: BlockSummary, _boot: int) -> bool:
    """Read every block whose records may matter."""
    return False


def always_skip(_block: BlockSummary, _boot: int) -> bool:
    """Skip every block of which the reader wants only the positions: the caller needs none of them."""
    return True


def notes_of(reader: RecordReader) -> Iterator[str]:
    """Lines about what a reader could not read."""
    for problem, count in reader.unreadable.items():
        advice = "; use a newer namekeeper" if problem is LineProblem.NEWER else ""
        yield f"{shown_count(count, 'line', 'are')} {problem} and not read{advice}"
    if reader.first_unreadable is not None:
        yield f"the first of them: line {reader.first_unreadable.number}: {reader.first_unreadable.detail}"
    for kind, count in reader.unknown_kinds.items():
        yield f"{shown_count(count, 'record', 'are')} of the unknown kind {kind!r}, and ignored"


def has_kind(folder: str, name: SegmentName, kind: str, *, system: Os = os) -> bool:
    """Whether a record of some kind begins a line of a segment; of blocks the summary says it."""
    begin = b'{"kind":"%b"' % kind.encode()
    if name.is_open:
        return any(line.data.startswith(begin) for line in read_segment_lines(folder, name, system=system))
    number = 0
    with suppress(OSError, EOFError, zlib.error):
        for part in read_parts(folder, name, system=system):
            if isinstance(part, Block):
                if (part.summary.first == 0 or kind in part.summary.kinds) and begin in part.text():
                    return True
            elif any(line.data.startswith(begin) for line in _until_broken(part, number)):
                return True
    return False


def _until_broken(chunks: Iterator[bytes], begin: int) -> Iterator[Line]:
    number = begin
    try:
        for line in split_lines(chunks, begin=begin):
            number = line.number
            yield line
    except (OSError, EOFError, zlib.error) as error:
        yield _torn(number + 1, error)


def _torn(number: int, error: Exception) -> Line:
    return Line(number, b"", f"torn: {error}")


def _nothing_in(folder: str, system: Os, *, is_journal: bool) -> str:
    last = load_last_boot(folder, system=system)
    if last is not None and last.boot:
        was_there = f"boot {last.boot} of {last.namesrv} was there up to seq {last.seq} at least"
        return f"{folder} was emptied: {was_there}"
    if is_journal:
        foreign = find_foreign(folder, system=system)
        if not foreign:
            return f"the journal in {folder} is empty: nothing was written yet"
        return (
            f"the journal in {folder} is empty: by identity.json another one wrote what is there"
            f" ({foreign[0]}): move it to a folder of its own"
        )
    below = sorted(path.parent.name for path in Path(folder).glob("*/identity.json"))
    if below:
        return f"{folder} is not a journal, but there is one in {', '.join(below[:5])} below it"
    return (
        f"{folder} is not a journal: it holds no segments; a name server writes to <KV folder>/journal/<port>"
    )
