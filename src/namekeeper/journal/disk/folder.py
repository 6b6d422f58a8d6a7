"""The folder of a journal: opening and locking it, and listing the segments in it."""

import os
import re
from collections.abc import Callable

from msgspec import Struct

from namekeeper.errors import JournalError
from namekeeper.files import Os, make_folder, problem_with
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.identity import IDENTITY_FILE, Identity, load_identity, save_identity
from namekeeper.journal.disk.last_boot import DAMAGED, load_last_boot
from namekeeper.journal.disk.lock import LOCK_FILE, TakeLock

__all__ = [
    "QUARANTINE",
    "SEAL_REQUEST",
    "UNFINISHED",
    "FolderLock",
    "list_segments",
    "open_folder",
    "reopen_folder",
]

QUARANTINE = "quarantine"
"""Folder for bytes that can't be read: recovery keeps them."""
SEAL_REQUEST = "seal.request"
"""A file with this name asks the writer to seal everything; the writer removes it when that is done."""
UNFINISHED = ".sealing"
"""File ending of a compressed segment that is not complete yet."""

_ALLOWED = re.compile(
    rf"{LOCK_FILE}|{QUARANTINE}|{re.escape(SEAL_REQUEST)}|{re.escape(IDENTITY_FILE)}\..*|lost\+found|\..*"
)
"""Files allowed in a folder without identity.json: those that a crash during the first start can leave."""


class FolderLock(Struct, frozen=True):
    """A folder that is locked by this process until `release`."""

    path: str
    identity: Identity
    release: Callable[[], None]
    notes: tuple[str, ...] = ()
    """Warnings for the log."""


def open_folder(
    path: str, wanted_id: str, *, is_configured: bool, lock: TakeLock, system: Os = os
) -> FolderLock:
    """Open a folder: create it if it is missing, lock it, read its identity or give it one.

    An emptied folder keeps the identity of its last boot.

    Args:
        path: The folder.
        wanted_id: Id for a new folder.
        is_configured: Whether the operator chose this id: then another id in the folder is a warning.
        lock: Takes the lock.
        system: The file system.

    Raises:
        JournalError: It belongs to another process, is not a journal, or can't be used; the message says what
            to do.
    """
    try:
        make_folder(path, system)
        _refuse_foreign(path, system)
        release = lock(path)
    except OSError as error:
        raise JournalError(_unusable(path, error)) from None
    try:
        identity = load_identity(path, system=system) or _new_identity(path, wanted_id, system)
    except OSError as error:
        release()
        raise JournalError(_unusable(path, error)) from None
    except BaseException:
        release()
        raise
    notes: tuple[str, ...] = ()
    if is_configured and identity.namesrv != wanted_id:
        note = f"the journal in {path} keeps its id {identity.namesrv}"
        notes = (f"{note}: journalNamesrvId={wanted_id} is used for a new folder only",)
    return FolderLock(path, identity, release, notes)


def reopen_folder(held: FolderLock, *, lock: TakeLock, system: Os = os) -> tuple[FolderLock, bool]:
    """Check after a failure of the disk that a folder is still this journal; create it again if it vanished.

    Returns:
        The lock of the folder, and whether the folder had vanished with all segments in it.

    Raises:
        JournalError: Another journal is there now.
        OSError: The folder still can't be used.
    """
    found = load_identity(held.path, system=system)
    if found == held.identity:
        return held, False
    if found is not None:
        raise JournalError(
            f"{held.path} was replaced by a journal of {found.namesrv}: set another journalPath"
        )
    held.release()
    make_folder(held.path, system)
    release = lock(held.path)
    try:
        save_identity(held.path, held.identity, system=system)
    except OSError:
        release()
        raise
    return FolderLock(held.path, held.identity, release), True


def list_segments(path: str, *, system: Os = os) -> list[SegmentName]:
    """Segments in a folder, in order; if a segment is there open and sealed, both are listed.

    Raises:
        OSError: The folder can't be read.
    """
    names = (SegmentName.parse(name) for name in system.listdir(path))
    return sorted((name for name in names if name is not None), key=lambda name: name.order)


def _refuse_foreign(path: str, system: Os) -> None:
    """Raise JournalError if a folder holds files and is not a journal."""
    names = system.listdir(path)
    foreign = sorted(name for name in names if not _ALLOWED.fullmatch(name))
    if foreign and IDENTITY_FILE not in names:
        raise JournalError(
            f"{path} is not a journal: it has no {IDENTITY_FILE}, but {_some(foreign)}; set journalPath to an"
            f" empty folder, or restore {IDENTITY_FILE}"
        )


def _new_identity(path: str, namesrv: str, system: Os) -> Identity:
    last = load_last_boot(path, system=system)
    if last is not None and last is not DAMAGED:
        identity = last.identity
    else:
        import uuid  # takes 10 ms, and is needed only for a new folder

        identity = Identity(namesrv, str(uuid.uuid4()))
    save_identity(path, identity, system=system)
    return identity


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _unusable(path: str, error: OSError) -> str:
    reason = problem_with(error.filename or path, error)
    what = reason if reason.startswith(f"{path} ") else f"{path} can't be used: {reason}"
    return f"{what}; repair it, or set journalPath to a folder that can be written"
