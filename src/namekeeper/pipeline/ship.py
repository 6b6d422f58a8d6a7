"""Copies sealed segments to another folder, each completely or not at all; deletes nothing."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import RawIOBase
from typing import IO, NamedTuple, cast

from namekeeper.common.counts import shown_count, shown_list
from namekeeper.pipeline.errors import JournalFolderError, MissingFolderError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.ingest.segment_lines import TEXT_BYTES
from namekeeper.pipeline.ingest.segments import Segment, list_segments

__all__ = ["Shipped", "copy_segment", "ship"]

Shown = Callable[[str, int, int], None]


class Shipped(NamedTuple):
    """The result of a call."""

    copied: int
    bytes: int
    there: int
    """Segments that were at the target already."""


def ship(journal: Folder, target: Folder, progress: Shown) -> Shipped:
    """Copy the segments that the target lacks.

    A segment is at the target if one with the same name server, UUID, boot and range is there. If the file
    name is the same, the size must be equal too, so that an interrupted copy is sent again.

    Args:
        journal: Folder of a journal.
        target: The target folder; it is made if it is not there.
        progress: Called with what is done and how far it is.

    Raises:
        JournalFolderError: The journal can't be read, or the target not written. If only some segments can't
            be read, or change meanwhile, the others were copied.
    """
    segments = _without_copies(list_segments([journal]).segments)
    there = _there(target)
    missing = [segment for segment in segments if _is_missing(segment, journal, there, target)]
    sizes: list[int] = []
    problems: list[str] = []
    for done, segment in enumerate(missing):
        progress("shipping segments", done, len(missing))
        try:
            size = _copy(segment, journal, target)
        except _SourceError as error:
            problems.append(f"{segment.file} can't be copied to {target.uri}: {error}")
            continue
        sizes += [] if size is None else [size]
    progress("shipping segments", len(missing), len(missing))
    if problems:
        copied = shown_count(len(sizes), "segment", "were")
        raise JournalFolderError(f"{shown_list(problems, 1)}; {copied} copied, run it again for the rest")
    return Shipped(len(sizes), sum(sizes), len(segments) - len(missing))


def copy_segment(segment: Segment, journal: Folder, target: Folder) -> None:
    """Copy one segment, unless it is gone.

    Raises:
        JournalFolderError: It can't be read, changes meanwhile, or the target can't be written; nothing of it
            is there.
    """
    try:
        _copy(segment, journal, target)
    except _SourceError as error:
        raise JournalFolderError(f"{segment.file} can't be copied to {target.uri}: {error}") from error


def _without_copies(segments: Sequence[Segment]) -> list[Segment]:
    """The segments in order of their records; of several with one name, that in the uppermost folder."""
    found: dict[tuple[object, ...], Segment] = {}
    for segment in sorted(segments, key=lambda each: (each.path.count("/"), each.path)):
        found.setdefault(_identity(segment), segment)
    return sorted(found.values(), key=lambda segment: (segment.boot_key, segment.first_seq))


def _there(target: Folder) -> dict[tuple[object, ...], Segment]:
    try:
        return {_identity(segment): segment for segment in list_segments([target]).segments}
    except MissingFolderError:
        return {}


def _is_missing(
    segment: Segment, journal: Folder, there: Mapping[tuple[object, ...], Segment], target: Folder
) -> bool:
    other = there.get(_identity(segment))
    if other is None:
        return True
    try:
        return other.file == segment.file and target.size(other.path) != journal.size(segment.path)
    except OSError as error:
        raise JournalFolderError(
            f"{segment.file} can't be compared with that in {target.uri}: {error}; may this user read both?"
        ) from error


def _identity(segment: Segment) -> tuple[object, ...]:
    return (*segment.boot_key, segment.first_seq, segment.last_seq)


def _copy(segment: Segment, journal: Folder, target: Folder) -> int | None:
    """Copy one; returns its bytes, or None if retention has deleted it meanwhile.

    Raises:
        _SourceError: It can't be read, or changes meanwhile; the target has nothing of it.
        JournalFolderError: The target can't be written.
    """
    try:
        # A link may lead to any file that this user can read.
        opened = (journal.open_itself if isinstance(journal, LocalFolder) else journal.open)(segment.path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _SourceError(str(error)) from error
    with opened as source:
        try:
            return target.put_stream(segment.file, cast("IO[bytes]", _Unchanged(source, segment, journal)))
        except _SourceError:
            raise
        except OSError as error:
            raise JournalFolderError(
                f"{segment.file} can't be copied to {target.uri}: {error}; copied segments stay, run it again"
            ) from error


class _SourceError(Exception):
    """A segment that can't be read, or is not what was listed."""


class _Unchanged(RawIOBase):
    """The bytes of a sealed segment, which never changes: reading ends with an error if it does.

    Otherwise the copy of a file that grows would never end, and a mixture of two contents would stay.

    Args:
        source: the file.
        segment: what it is.
        journal: its folder.

    Raises:
        _SourceError: it is larger than any segment.
    """

    def __init__(self, source: IO[bytes], segment: Segment, journal: Folder) -> None:
        super().__init__()
        self._source = source
        self._state = _state_of(source)
        self._left = journal.size(segment.path) if self._state is None else self._state[0]
        if self._state is None and not self._left:
            raise _SourceError("it is gone")
        if self._left > TEXT_BYTES:
            raise _SourceError(f"it has {self._left:,} bytes, more than a segment has: move it away")

    def read(self, size: int = -1) -> bytes:
        """Return up to so many bytes; none at the end of the file.

        Raises:
            _SourceError: it can't be read, or has changed.
        """
        try:
            data = (
                self._source.read(min(size, self._left) if size >= 0 else self._left) if self._left else b""
            )
        except OSError as error:
            raise _SourceError(str(error)) from error
        self._left -= len(data)
        if not data and (self._left or _state_of(self._source) != self._state):
            raise _SourceError("it changes while it is read, and a sealed segment never does")
        return data


def _state_of(source: IO[bytes]) -> tuple[int, int] | None:
    """Bytes of an open file, and the time of its last change in ns; None of an object in a store."""
    with suppress(OSError, AttributeError):
        found = os.fstat(source.fileno())
        return found.st_size, found.st_mtime_ns
    return None
