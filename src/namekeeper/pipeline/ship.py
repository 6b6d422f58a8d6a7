"""Copies sealed segments to another folder, each completely or not at all; deletes nothing."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import NamedTuple

from namekeeper.pipeline.errors import JournalFolderError, MissingFolderError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.ingest.segments import Segment, list_segments

__all__ = ["Shipped", "ship"]

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
        JournalFolderError: The journal can't be read, or the target not written.
    """
    segments = sorted(
        list_segments([journal]).segments, key=lambda segment: (segment.boot_key, segment.first_seq)
    )
    there = _there(target)
    missing = [segment for segment in segments if _is_missing(segment, journal, there, target)]
    sizes: list[int] = []
    for done, segment in enumerate(missing):
        progress("shipping segments", done, len(missing))
        size = _copy(segment, journal, target)
        sizes += [] if size is None else [size]
    progress("shipping segments", len(missing), len(missing))
    return Shipped(len(sizes), sum(sizes), len(segments) - len(missing))


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
    """Copy one; returns its bytes, or None if retention has deleted it meanwhile."""
    try:
        with ExitStack() as opened:
            try:
                source = opened.enter_context(journal.open(segment.path))
            except FileNotFoundError:
                return None
            return target.put_stream(segment.file, source)
    except OSError as error:
        raise JournalFolderError(
            f"{segment.file} can't be copied to {target.uri}: {error}; what was copied stays, run it again"
        ) from error
