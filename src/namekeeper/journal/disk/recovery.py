"""Recovery after a crash: seals open segments up to their last complete change, keeps the rest aside.

It also finds out what was removed from the folder while no server ran.
"""

import contextlib
import os
import zlib
from pathlib import Path

from msgspec import Struct

from namekeeper.files import TEMPORARY, Os, replace_own_file, sweep_temporaries
from namekeeper.journal.contract.complete_changes import CompleteChanges
from namekeeper.journal.contract.lines import read_envelope, split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope
from namekeeper.journal.disk.folder import QUARANTINE, UNFINISHED, list_segments
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.disk.last_boot import DAMAGED, last_boot_path, load_last_boot
from namekeeper.journal.disk.segment import SealedCopy, read_segment

__all__ = ["Recovery", "is_of", "last_ts", "recover", "seal_leftover"]


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
    torn: list[bytes] = []
    try:
        changes = CompleteChanges(name, lambda line, _: torn.append(line.data))
        for change in changes.read(split_lines(read_segment(folder, name, system=system))):
            for line in change:
                copy.add(line.data + b"\n")
        if torn:
            aside = Path(folder) / QUARANTINE / f"{str(name).removesuffix('.open')}.torn"
            replace_own_file(str(aside), b"\n".join(torn), system=system)
        if not changes.last_seq:
            copy.abandon()
            system.unlink(str(Path(folder) / str(name)))
            return 0, f"a crashed process left {name} without a complete change{_aside(torn)}"
        sealed = copy.finish(changes.last_seq)
    except OSError:
        copy.abandon()
        raise
    return changes.last_seq, f"sealed {sealed} after a crash{_aside(torn)}"


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


def _aside(torn: list[bytes]) -> str:
    if not torn:
        return ""
    return f"; {sum(map(len, torn))} bytes outside of complete changes are in {QUARANTINE}/"
