"""The folder of a journal: held by one process at a time, ours or nobody's, and what lies in it."""

import os
import re
from collections.abc import Callable

from msgspec import Struct

from namekeeper.errors import JournalError
from namekeeper.files import Os, make_folder
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.identity import IDENTITY_FILE, Identity, load_identity, save_identity
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
"""Folder for what can't be read: nothing is thrown away."""
SEAL_REQUEST = "seal.request"
"""A file with this name asks the writer to seal what it has; removed when that is done."""
UNFINISHED = ".sealing"
"""Ending of a compressed segment that is being written."""

_OURS = re.compile(
    rf"{LOCK_FILE}|{QUARANTINE}|{re.escape(SEAL_REQUEST)}|{re.escape(IDENTITY_FILE)}\..*|lost\+found|\..*"
)
"""What may lie in a folder that has no identity yet: a crash during the first start leaves no more."""


class FolderLock(Struct, frozen=True):
    """A folder that is ours until `release`."""

    path: str
    identity: Identity
    release: Callable[[], None]
    notes: tuple[str, ...] = ()
    """Lines for the log: what is perhaps not as it was meant."""


def open_folder(
    path: str, wanted_id: str, *, is_configured: bool, lock: TakeLock, system: Os = os
) -> FolderLock:
    """Make a folder ours: create it if need be, lock it, read its identity or give it one.

    Args:
        path: The folder.
        wanted_id: Id that a new folder gets.
        is_configured: Whether somebody asked for this id, so that another one in the folder is worth a word.
        lock: Takes the lock.
        system: Where it is.

    Raises:
        JournalError: It is somebody else's, or no journal, or can't be used; the message says what to do.
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
        note = f"the journal in {path} belongs to {identity.namesrv}, and stays so"
        notes = (f"{note}: journalNamesrvId={wanted_id} counts for a new folder only",)
    return FolderLock(path, identity, release, notes)


def reopen_folder(hold: FolderLock, *, lock: TakeLock, system: Os = os) -> tuple[FolderLock, bool]:
    """Make sure that a folder is still ours after the disk failed us; one that vanished is made anew.

    Returns:
        What we hold now, and whether the folder was gone and what was in it with it.

    Raises:
        JournalError: It has become somebody else's.
        OSError: It still can't be used.
    """
    found = load_identity(hold.path, system=system)
    if found == hold.identity:
        return hold, False
    if found is not None:
        raise JournalError(
            f"{hold.path} was replaced by a journal of {found.namesrv}: set another journalPath"
        )
    hold.release()
    make_folder(hold.path, system)
    release = lock(hold.path)
    try:
        save_identity(hold.path, hold.identity, system=system)
    except OSError:
        release()
        raise
    return FolderLock(hold.path, hold.identity, release), True


def list_segments(path: str, *, system: Os = os) -> list[SegmentName]:
    """Segments in a folder, in order; of one both open and sealed both are listed.

    Raises:
        OSError: The folder can't be read.
    """
    names = (SegmentName.parse(name) for name in system.listdir(path))
    return sorted((name for name in names if name is not None), key=lambda name: name.order)


def _refuse_foreign(path: str, system: Os) -> None:
    """Leave alone what holds files and is no journal."""
    names = system.listdir(path)
    foreign = sorted(name for name in names if not _OURS.fullmatch(name))
    if foreign and IDENTITY_FILE not in names:
        raise JournalError(
            f"{path} is no journal: it has no {IDENTITY_FILE}, but {_some(foreign)}; set journalPath to an"
            f" empty folder, or restore {IDENTITY_FILE}"
        )


def _new_identity(path: str, namesrv: str, system: Os) -> Identity:
    import uuid  # a hundredth of a second, needed once in the life of a folder

    identity = Identity(namesrv, str(uuid.uuid4()))
    save_identity(path, identity, system=system)
    return identity


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _unusable(path: str, error: OSError) -> str:
    reason = error.strerror or error
    return f"{path} can't be used: {reason}; mend it, or set journalPath to a folder that can be written"
