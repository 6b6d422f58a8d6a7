"""Moves or deletes shipped segments that a warehouse has.

A segment goes only if every kept version of the warehouse has its records, because an operator may go back to
each of them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from namekeeper.pipeline.errors import JournalFolderError, WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.ingest.ledger import Ledger
from namekeeper.pipeline.ingest.segments import Segment, list_segments
from namekeeper.pipeline.ship import copy_segment
from namekeeper.pipeline.store.manifest import Manifest, numbers_of, path_of

__all__ = ["Archivable", "archivable", "archive"]

_OF_A_SERVER = "lock"
"""A server keeps it beside its segments. Shipped copies have none."""

Shown = Callable[[str, int, int], None]


class Archivable(NamedTuple):
    """The segments of a folder that can go, and the number of those that stay."""

    segments: Sequence[Segment]
    """With their sizes."""
    left: int


def archivable(journal: Folder, warehouse: Folder, before_ms: int) -> Archivable:
    """The segments of a folder whose records every version of a warehouse has.

    Args:
        journal: Folder with shipped segments.
        warehouse: The warehouse; the caller holds its lock.
        before_ms: Segments that were shipped from this time on stay: while the server has them they would be
            shipped again.

    Raises:
        JournalFolderError: It can't be read, or a server writes there.
        WarehouseError: A manifest or ledger of it is lost or damaged.
    """
    listed = list_segments([journal]).segments
    for folder in {segment.path[: -len(segment.file)] for segment in listed}:
        if _has(journal, f"{folder}{_OF_A_SERVER}"):
            raise JournalFolderError(
                f"{journal.uri} has the file {_OF_A_SERVER}, as the folder of a server: a server needs its"
                " segments and deletes old ones itself. In a copy of such a folder delete this file"
            )
    ledgers = _ledgers(warehouse)
    files = {file.path: file for file in journal.files()}
    chosen = []
    for segment in listed:
        file = files.get(segment.path)
        is_old = file is not None and file.modified_ms is not None and file.modified_ms < before_ms
        if file is not None and is_old and all(ledger.has(segment) for ledger in ledgers):
            chosen.append(segment._replace(size=file.size))
    return Archivable(chosen, len(listed) - len(chosen))


def archive(segments: Sequence[Segment], journal: Folder, target: Folder | None, progress: Shown) -> None:
    """Move segments, or delete them.

    Args:
        segments: As `archivable` gives them.
        journal: Their folder.
        target: Where to; None: delete them. A larger file of the same name is kept there.
        progress: Called with what is done and how far it is.

    Raises:
        JournalFolderError: One could not be copied; it is still there.
        OSError: One could not be deleted.
    """
    what = "deleting segments" if target is None else "moving segments"
    for done, segment in enumerate(segments):
        progress(what, done, len(segments))
        if target is not None and target.size(segment.file) < (segment.size or 0):
            copy_segment(segment, journal, target)
        journal.delete(segment.path)
    progress(what, len(segments), len(segments))


def _ledgers(warehouse: Folder) -> list[Ledger]:
    return [_ledger(warehouse, path_of(number)) for number in numbers_of(warehouse)]


def _ledger(warehouse: Folder, path: str) -> Ledger:
    manifest = Manifest.from_json(warehouse.read(path), f"{warehouse.uri}/{path}")
    try:
        return Ledger.from_json(warehouse.read(manifest.ledger)) if manifest.ledger else Ledger()
    except FileNotFoundError:
        raise WarehouseError(
            f"{warehouse.uri}/{manifest.ledger} is lost: after the next run that brings something try again"
        ) from None


def _has(folder: Folder, path: str) -> bool:
    try:
        with folder.open(path):
            return True
    except FileNotFoundError:
        return False
