"""Recovery after a crash: seals open segments up to their last complete change, keeps the rest aside.

It also finds out what was removed from the folder while no server ran.
"""

import contextlib
import os
import zlib
from pathlib import Path

from msgspec import Struct

from namekeeper.files import (
    TEMPORARY,
    Os,
    create_file,
    make_folder,
    sweep_temporaries,
    sync_folder,
    write_all,
)
from namekeeper.journal.contract.complete_changes import CompleteChanges
from namekeeper.journal.contract.lines import Line, read_envelope, split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope
from namekeeper.journal.disk.folder import QUARANTINE, UNFINISHED, list_segments
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.disk.last_boot import DAMAGED, last_boot_path, load_last_boot
from namekeeper.journal.disk.segment import SealedCopy, read_segment

__all__ = ["Recovery", "is_of", "last_ts", "recover", "seal_leftover"]


_WRITE_BYTES = 1 << 20
"""Bytes for quarantine that wait in memory."""


class Recovery(Struct, frozen=True):
    """The result of recovery."""

    previous_boot: int = 0
    """The last boot that was in the folder; 0 if there is none."""
    previous_seq: int = 0
    """The last seq of that boot that was on disk."""
    notes: tuple[str, ...] = ()
    """Lines for the log."""


def recover(folder: str, identity: Identity, *, system: Os = os) -> Recovery:
    """Seal all open segments, so that nothing is ever appended to an old file.

    Raises:
        OSError: The disk failed.
    """
    notes = []
    _sweep(folder, system)
    sweep_temporaries(str(last_boot_path(folder)))
    with contextlib.suppress(FileNotFoundError):
        _sweep(str(Path(folder) / QUARANTINE), system)
    ours = [name for name in list_segments(folder, system=system) if is_of(name, identity)]
    sealed = {(name.boot, name.first_seq) for name in ours if not name.is_open}
    boots = {name.boot: name.last_seq or 0 for name in ours}
    for name in ours:
        if not name.is_open:
            boots[name.boot] = max(boots[name.boot], name.last_seq or 0)
        elif (name.boot, name.first_seq) in sealed:
            # The crash came after sealing, before this file was removed.
            system.unlink(str(Path(folder) / str(name)))
        else:
            last_seq, note = seal_leftover(folder, name, system=system)
            boots[name.boot] = max(boots[name.boot], last_seq)
            notes.append(note)
    boot = max(boots, default=0)
    previous, removed = _with_removed(folder, identity, (boot, boots.get(boot, 0)), system)
    return Recovery(*previous, (*notes, *removed))


def _with_removed(
    folder: str, identity: Identity, found: tuple[int, int], system: Os
) -> tuple[tuple[int, int], list[str]]:
    """The last boot and seq that were on disk, at least those that were found, and lines for the log."""
    last = load_last_boot(folder, system=system)
    if last is None:
        return found, []
    path = last_boot_path(folder)
    if last is DAMAGED:
        return found, [f"{path} can't be read: whether whole boots were removed is not known"]
    if last.identity != identity:
        return found, [f"what was here was another journal, {last.uuid} of {last.namesrv}, as {path} says"]
    if (last.boot, last.seq) <= found:
        return found, []
    return (last.boot, last.seq), [f"records were removed or lost: {last.was_here}, as {path} says"]


def is_of(name: SegmentName, identity: Identity) -> bool:
    """Whether a segment was written in the folder of this identity."""
    return (name.namesrv, name.uuid8) == (identity.namesrv, identity.uuid8)


def seal_leftover(folder: str, name: SegmentName, *, system: Os = os) -> tuple[int, str]:
    """Seal the complete changes of an open segment without a writer; put the rest into quarantine.

    Returns:
        The last seq in it, 0 if it has no complete change; and a line for the log.

    Raises:
        OSError: The disk failed; the segment is still there.
    """
    copy = SealedCopy(folder, name, system=system)
    torn = _Torn(folder, name, system)
    try:
        changes = CompleteChanges(name, torn.add)
        # Every byte is kept, also of lines that no reader would read.
        lines = split_lines(read_segment(folder, name, system=system), short_lines=None)
        for change in changes.read(lines):
            for line in change:
                copy.add(line.data + b"\n")
        torn.finish()
        if not changes.last_seq:
            copy.abandon()
            system.unlink(str(Path(folder) / str(name)))
            return 0, f"a crashed process left {name} without a complete change{torn}"
        sealed = copy.finish(changes.last_seq)
    except OSError:
        copy.abandon()
        torn.abandon()
        raise
    return changes.last_seq, f"sealed {sealed} after a crash{torn}"


def last_ts(folder: str, name: SegmentName, *, system: Os = os) -> int:
    """Time of the newest record of a segment, in wall ms; 0 if nothing in it can be read.

    Raises:
        OSError: The disk failed.
    """
    newest = 0
    with contextlib.suppress(EOFError, zlib.error):
        for line in split_lines(read_segment(folder, name, system=system)):
            envelope = read_envelope(line)
            if isinstance(envelope, Envelope):
                newest = max(newest, envelope.ts)
    return newest


def _sweep(folder: str, system: Os) -> None:
    """Delete files that a process was writing when it died; the caller holds the lock."""
    for entry in system.listdir(folder):
        if entry.endswith(UNFINISHED) or TEMPORARY.fullmatch(entry):
            system.unlink(str(Path(folder) / entry))


class _Torn:
    """The file in quarantine for the bytes of a segment that are in no complete change."""

    def __init__(self, folder: str, name: SegmentName, system: Os) -> None:
        self._path = str(Path(folder) / QUARANTINE / f"{str(name).removesuffix('.open')}.torn")
        self._system = system
        self._fd: int | None = None
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._size = 0
        """Bytes of the lines, without the line feeds between them."""
        self._has_any = False

    def __str__(self) -> str:
        """The end of a line for the log."""
        if not self._has_any:
            return ""
        return f"; {self._size} bytes outside of complete changes are in {QUARANTINE}/"

    def add(self, line: Line, _why: str) -> None:
        """Add a line.

        Raises:
            OSError: It can't be written; call `abandon`.
        """
        self._waiting += [b"\n", line.data] if self._has_any else [line.data]
        self._has_any = True
        self._waiting_bytes += len(line.data) + 1
        self._size += len(line.data)
        if self._waiting_bytes >= _WRITE_BYTES:
            self._write()

    def finish(self) -> None:
        """Give the file its name, if there is anything in it.

        Raises:
            OSError: It can't be written; call `abandon`.
        """
        if not self._has_any:
            return
        system = self._system
        self._write()
        assert self._fd is not None
        system.fsync(self._fd)
        self._close()
        system.replace(f"{self._path}{UNFINISHED}", self._path)
        sync_folder(str(Path(self._path).parent), system)

    def abandon(self) -> None:
        """Close the file after a failure; the next recovery removes it."""
        with contextlib.suppress(OSError):
            self._close()

    def _write(self) -> None:
        system, temporary = self._system, f"{self._path}{UNFINISHED}"
        if self._fd is None:
            make_folder(str(Path(self._path).parent), system)
            with contextlib.suppress(FileNotFoundError):
                system.unlink(temporary)
            self._fd = create_file(temporary, system=system)
        write_all(self._fd, b"".join(self._waiting), system)
        self._waiting.clear()
        self._waiting_bytes = 0

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            self._system.close(fd)
