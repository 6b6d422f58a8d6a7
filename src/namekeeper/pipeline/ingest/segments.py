"""Sealed segments: parses their names, and lists those in a folder."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from namekeeper.common.segment_names import SEGMENT_NAME
from namekeeper.pipeline.errors import JournalFolderError, MissingFolderError
from namekeeper.pipeline.files.file import File, LoadedFiles
from namekeeper.pipeline.files.folder import Folder

__all__ = ["END_LENGTH", "Listing", "Segment", "bytes_of", "list_segments", "parse_segment"]

_OF_A_JOURNAL = {"identity.json", "lock"}
"""Files that a server keeps beside its segments."""
_QUARANTINE = "quarantine"
_SET_ASIDE = re.compile(rf"(?:^|/)(?:[._]|{_QUARANTINE}(?:/|$))")
_END = re.compile(r"-([0-9a-f]{8})-([0-9]{13})-([0-9]{12})-([0-9]{12})\.jsonl")
END_LENGTH = len("-0a1b2c3d-1772323200000-000000000001-000000000100.jsonl")
"""Number of characters of a file name after the name server's id, without `.gz`."""


class Segment(NamedTuple):
    """A sealed segment in a folder."""

    namesrv: str
    uuid8: str
    boot: int
    first_seq: int
    last_seq: int
    compressed: bool
    size: int | None
    """Bytes of the file; None: not asked for."""
    journal: str
    """URI of the folder that was listed."""
    path: str
    """Path below that folder."""

    @property
    def file(self) -> str:
        """Name of the file, without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def boot_key(self) -> "tuple[str, str, int]":
        """Journal and boot that it belongs to: (namesrv, uuid8, boot)."""
        return self.namesrv, self.uuid8, self.boot

    @property
    def records(self) -> int:
        """Number of records if it is complete."""
        return self.last_seq - self.first_seq + 1


class Listing(NamedTuple):
    """The content of the folders of journals."""

    segments: Sequence[Segment]
    """Sealed segments, without those that were left out."""
    empty: Sequence[str]
    """URIs of folders without a segment."""
    ignored: int
    """Number of files that do not belong to a journal."""
    known: int = 0
    """Number of segments that were left out because the warehouse has them."""
    is_whole: bool = True
    """Whether nothing was skipped."""


def list_segments(
    folders: Iterable[Folder], known: LoadedFiles | None = None, skipped: Collection[Folder] = ()
) -> Listing:
    """Sealed segments in folders and the folders below them.

    Args:
        folders: Where to look.
        known: Segments to leave out.
        skipped: The folders in which `known` may skip.

    Raises:
        JournalFolderError: A folder is not there, can't be read, or has files but nothing of a journal.
    """
    segments: list[Segment] = []
    empty: list[str] = []
    ignored = 0
    for folder in folders:
        before = known.found if known else 0
        found, others, is_journal = _look_into(folder, known, may_skip=folder in skipped)
        has_known = known is not None and known.found > before
        if others and not is_journal and not has_known:
            raise JournalFolderError(
                f"{folder.uri} is not a journal: it has {others} files, none of them a segment;"
                " give the folder that has the server's *.jsonl.gz files (journalPath), or a copy of it"
            )
        if not found and not has_known:
            empty.append(folder.uri)
        segments += found
        ignored += others
    return Listing(
        segments, empty, ignored, known.found if known else 0, is_whole=not (known and known.skips)
    )


def bytes_of(segments: Iterable[Segment]) -> int:
    """Bytes of segments on disk, as far as they are known."""
    return sum(segment.size or 0 for segment in segments)


def parse_segment(file: File, journal: str) -> Segment | None:
    """A sealed segment from a file, None if it is something else.

    Args:
        file: As listed in the folder.
        journal: URI of the folder that it was found in.
    """
    name = file.path.rpartition("/")[2]
    stem = name.removesuffix(".gz")
    # Parsed from the end, where the lengths are fixed: a pattern takes ten times as long.
    match = _END.fullmatch(stem[-END_LENGTH:])
    if match is None or not _is_namesrv(stem[:-END_LENGTH]):
        return None
    uuid8, boot, first, last = match[1], *map(int, match.group(2, 3, 4))
    if not 1 <= first <= last:
        return None
    return Segment(stem[:-END_LENGTH], uuid8, boot, first, last, stem != name, file.size, journal, file.path)


@cache
def _is_namesrv(name: str) -> bool:
    return SEGMENT_NAME.fullmatch(f"{name}-00000000-{0:013}-{0:012}-{0:012}.jsonl") is not None


def _look_into(
    folder: Folder, known: LoadedFiles | None, *, may_skip: bool
) -> tuple[list[Segment], int, bool]:
    """Segments, the number of files that belong to no journal, and whether the folder is a journal."""
    segments: list[Segment] = []
    others = 0
    is_journal = False
    for file in _files(folder, known, may_skip=may_skip):
        segment = parse_segment(file, folder.uri)
        if segment is not None:
            segments.append(segment)
            continue
        name = file.path.rpartition("/")[2]
        if name in _OF_A_JOURNAL or SEGMENT_NAME.fullmatch(name):
            is_journal = True
        else:
            others += 1
    return segments, others, is_journal or bool(segments)


def _files(folder: Folder, known: LoadedFiles | None, *, may_skip: bool) -> Iterator[File]:
    """Files of a folder, without hidden ones, those in quarantine and known ones."""
    is_there = False
    before = known.found if known else 0
    try:
        for file in folder.files_but(known, may_skip=may_skip) if known else folder.files(quick=True):
            is_there = True
            if not _SET_ASIDE.search(file.path):
                yield file
        # Asked last: an object store has the answer in the list.
        is_there = is_there or (known is not None and known.found > before) or folder.exists()
    except NotADirectoryError:
        is_there = False
    except OSError as error:
        raise JournalFolderError(f"{folder.uri} can't be read: {error}; may this user read it?") from error
    if not is_there:
        raise MissingFolderError(
            f"{folder.uri} is no folder; is it the server's journalPath, or a copy of it?"
        )
