"""Reads the records of a journal that must be intact up to its end: none may be missing or unreadable.

Only the end of the newest segment may be torn, as a crash leaves it.
"""

import os
from collections.abc import Iterator
from itertools import chain

from namekeeper.errors import JournalError
from namekeeper.files import Os
from namekeeper.journal.contract.decode import LineProblem, RecordReader
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.reading.history import AnyRecord
from namekeeper.journal.reading.reader import FoundJournal, JournalReader

__all__ = ["read_intact"]


def read_intact(
    folder: str, names: list[SegmentName], skip: frozenset[str] = frozenset(), *, system: Os = os
) -> Iterator[AnyRecord]:
    """The records of segments that follow each other.

    Args:
        folder: The journal's folder.
        names: The segments in order; the last is the newest of the journal's boot.
        skip: Kinds of which only the envelope is wanted.
        system: The file system.

    Raises:
        JournalError: A record can't be read, is of a newer version, or is missing; the message says which.
    """
    reader = RecordReader(skip=skip)
    journal = JournalReader(FoundJournal(folder, system=system), segments=names)
    return chain.from_iterable(journal.read_each(lambda name: _intact(journal, name, reader)))


def _intact(journal: JournalReader, name: SegmentName, reader: RecordReader) -> Iterator[AnyRecord]:
    last_seq, is_torn = 0, False
    for line in journal.lines_of(name):
        if is_torn:
            raise JournalError(f"{name} is damaged at line {line.number - 1}")
        record = reader(line, name)
        if record is None:
            _check_problem(name, reader)
            is_torn = True
            continue
        if reader.unknown_kinds:
            raise JournalError(f"{name} has records of a newer version: {next(iter(reader.unknown_kinds))}")
        last_seq = record.seq
        yield record
    if name.last_seq not in {None, last_seq}:
        raise JournalError(f"records are missing at the end of {name}")
    if is_torn and name is not journal.segments[-1]:
        raise JournalError(f"{name} is damaged at its end")


def _check_problem(name: SegmentName, reader: RecordReader) -> None:
    """Raise JournalError unless the line that was just read is damaged, as the last one may be."""
    first = reader.first_unreadable
    assert first is not None
    if first.problem is not LineProblem.DAMAGED:
        raise JournalError(f"{name}, line {first.number}: {first.problem}: {first.detail}")
