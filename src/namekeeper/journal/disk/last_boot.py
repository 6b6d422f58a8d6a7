"""`.<folder>.last-boot` beside a journal's folder: the newest boot that the folder had on disk.

Emptying the folder, or removing the segments of its newest boots, leaves this file. So `verify` and the next
start can tell that something is missing.
"""

import logging
import os
from pathlib import Path

import msgspec

from namekeeper.files import Os, read_own_file, replace_own_file
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.checksum import Checksum, check_line, with_checksum
from namekeeper.journal.disk.identity import Identity, is_valid

__all__ = ["DAMAGED", "LastBoot", "LastBootNote", "last_boot_path", "load_last_boot"]

log = logging.getLogger("namekeeper.journal")


class LastBoot(msgspec.Struct, frozen=True):
    """A boot that was on disk for certain, and up to which record."""

    namesrv: str
    uuid: str
    """UUID of the folder."""
    boot: int
    seq: int
    """A record that was on disk for certain, with all before it; there may be later ones."""

    @property
    def identity(self) -> Identity:
        """The name server that wrote the journal."""
        return Identity(self.namesrv, self.uuid)

    @property
    def was_here(self) -> str:
        """Phrase for what was on disk."""
        return f"boot {self.boot} was here up to seq {self.seq} at least"


DAMAGED = LastBoot("", "", 0, 0)
"""The file is there and can't be read, or was altered."""


def last_boot_path(folder: str) -> Path:
    """Where the file of a journal's folder is: hidden, so that `journal/*` names folders only."""
    target = Path(os.path.realpath(folder))
    return target.with_name(f".{target.name}.last-boot")


def load_last_boot(folder: str, *, system: Os = os) -> LastBoot | None:
    """Read the file of a folder; None if there is none, `DAMAGED` if it is not as it was written."""
    try:
        data = read_own_file(str(last_boot_path(folder)), system=system)
        if data is None:
            return None
        line = data.removesuffix(b"\n")
        last = msgspec.json.decode(line, type=LastBoot)
    except (OSError, *UNREADABLE_JSON):
        return DAMAGED
    if check_line(line) is not Checksum.RIGHT or not is_valid(last.identity):
        return DAMAGED
    return last


class LastBootNote:
    """Writes the file for one boot; belongs to the writer's thread."""

    def __init__(self, folder: str, identity: Identity, boot: int, *, system: Os = os) -> None:
        """Prepare; nothing is written before `note`."""
        self._path = str(last_boot_path(folder))
        self._identity = identity
        self._boot = boot
        self._system = system
        self._is_tried = False

    def note_once(self, durable_seq: int) -> None:
        """Note the boot as soon as a record of it is on disk, if that was not tried yet."""
        if durable_seq and not self._is_tried:
            self.note(durable_seq)

    def note(self, durable_seq: int) -> None:
        """Note that a record and all before it are on disk; 0: none is."""
        if not durable_seq:
            return
        self._is_tried = True
        last = LastBoot(self._identity.namesrv, self._identity.uuid, self._boot, durable_seq)
        try:
            replace_own_file(self._path, with_checksum(msgspec.json.encode(last)), system=self._system)
        except OSError as error:
            what = "journal: %s can't be written: %s; if whole boots are removed, nothing will say so"
            log.warning(what, self._path, error.strerror or error)
