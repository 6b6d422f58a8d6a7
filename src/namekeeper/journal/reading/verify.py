"""Checks whether a journal is complete.

It reports missing seqs, damaged lines, incomplete checkpoints, crashed boots, a missing beginning that
retention did not delete, newest boots that were removed, segments of other journals, and blocks whose summary
does not say what is in them.
"""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from namekeeper.files import Os
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.checksum import Checksum, check_line
from namekeeper.journal.contract.complete_changes import CompleteChanges
from namekeeper.journal.contract.lines import Line, read_envelope
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import CONTRACT_VERSION, Envelope
from namekeeper.journal.disk.folder import QUARANTINE
from namekeeper.journal.disk.identity import load_identity
from namekeeper.journal.disk.last_boot import DAMAGED, LastBoot, last_boot_path, load_last_boot
from namekeeper.journal.disk.lock import is_locked
from namekeeper.journal.disk.recovery import is_of
from namekeeper.journal.reading.block_check import BlockCheck
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, find_foreign
from namekeeper.journal.reading.verify_report import BootReport, VerifyReport

__all__ = ["verify"]

UNFINISHED_LINES_LIMIT = 100_000
"""Lines at the end of a growing segment that are taken for a change that is being written."""

T = TypeVar("T")


class _CheckpointCount(Struct):
    """A checkpoint whose end has not come yet."""

    begin: int
    counts: Counter[str] = field(default_factory=Counter)


class _CheckpointEndCounts(Struct):
    """The member of `checkpoint_end` that is compared."""

    counts: dict[str, int]


class _DeletedPart(Struct):
    """The member of `segments_deleted` that is compared."""

    segments: list[str] = []


class _StartedPart(Struct):
    """The members of `server_started` that are compared."""

    uuid: str = ""
    previous_boot: int = 0
    previous_seq: int = 0
    checksums: bool = False
    observed_addr: str = ""


def verify(folder: str, *, system: Os = os) -> VerifyReport:
    """Read everything in a folder.

    Raises:
        JournalError: It is not a journal, or can't be read at all.
    """
    last = load_last_boot(folder, system=system)  # first: while a server writes, the folder may be newer
    journal = JournalReader(FoundJournal(folder, system=system))
    segments = journal.segments
    identity = load_identity(folder, system=system)
    report = VerifyReport(
        folder, segments[0].namesrv, "" if identity is None else identity.uuid, len(segments)
    )
    report.is_being_written = is_locked(folder)
    checker = _Checker(report)

    def check(name: SegmentName) -> None:
        is_growing = report.is_being_written and name.is_open and name is segments[-1]
        blocks = BlockCheck()
        checker.read(name, journal.lines_of(name, blocks.read), is_growing=is_growing)
        checker.add_problems(blocks.problems)

    for _ in journal.read_each(check):
        pass
    checker.check_beginning(segments[0])
    if identity is not None or last is not None:  # a copy has neither
        checker.check_newest(last, segments[0])
    for name in find_foreign(folder, system=system):
        report.add(
            str(name),
            0,
            "another journal wrote it, and nothing here was read: move it to a folder of its own",
        )
    report.quarantined = _quarantined(folder, system)
    return report


class _Checker:
    """Reads the segments in order and fills in the report."""

    def __init__(self, report: VerifyReport) -> None:
        self._report = report
        self._file = ""
        self._last = 0
        """Seq of the last record that counts, in this boot."""
        self._checkpoint: _CheckpointCount | None = None
        self._has_checksums = False
        """Whether each record of this boot must have one."""
        self._first_started: _StartedPart | None = None
        """`server_started` of the oldest boot, if it is there."""
        self._last_deleted: set[tuple[int, int | None]] = set()
        """Boot and last seq of the segments that retention deleted."""

    def read(self, name: SegmentName, lines: Iterable[Line], *, is_growing: bool) -> None:
        """Check one segment.

        Args:
            name: Its name.
            lines: Its lines.
            is_growing: Whether it is being written now, so that its last change may be unfinished.
        """
        self._file = str(name)
        boot = self._boot(name)
        rejected: list[tuple[int, str]] = []

        def reject(line: Line, why: str) -> None:
            rejected.append((line.number, why))
            if not is_growing or len(rejected) > UNFINISHED_LINES_LIMIT:
                self.add_problems(rejected)

        changes = CompleteChanges(name, reject)
        for change in changes.read(lines):
            self.add_problems(rejected)
            for line in change:
                self._record(boot, line)
        if name.last_seq is not None and changes.last_seq != name.last_seq:
            what = f"its name says that it ends with seq {name.last_seq}, but it ends with {changes.last_seq}"
            self._report.add(self._file, 0, what)

    def check_beginning(self, oldest: SegmentName) -> None:
        """Check, after all was read, that retention deleted what came before the oldest segment."""
        before: tuple[int, int | None] | None = None
        if oldest.first_seq > 1:
            before = (oldest.boot, oldest.first_seq - 1)
        elif self._first_started is not None and self._first_started.previous_seq:
            before = (self._first_started.previous_boot, self._first_started.previous_seq)
        if before is not None and before not in self._last_deleted:
            what = f"what came before it is missing, up to seq {before[1]} of boot {before[0]}"
            self._report.add(str(oldest), 0, f"{what}: retention did not delete it, as far as is recorded")

    def check_newest(self, last: LastBoot | None, oldest: SegmentName) -> None:
        """Check, after all was read, that the newest boot which was in the folder is there."""
        report = self._report
        newest = report.boots[-1]
        report.knows_last_boot = last is not None
        if last is None:
            return
        file = last_boot_path(report.folder).name
        if last is DAMAGED:
            report.add(file, 0, "it can't be read: whether whole boots were removed is not known")
        elif not is_of(oldest, last.identity):
            report.add(file, 0, f"what was here was another journal: {last.uuid} of {last.namesrv}")
        elif last.boot > newest.boot:
            report.add(file, 0, f"boot {last.boot} is missing, which was here up to seq {last.seq} at least")
        elif last.boot == newest.boot and last.seq > newest.last_seq:
            newest.holes.append((newest.last_seq + 1, last.seq))
            newest.lost_records += last.seq - newest.last_seq

    def add_problems(self, problems: list[tuple[int, str]]) -> None:
        """Report the problems of the lines of the segment that was read last, and forget them."""
        for number, what in problems:
            self._report.add(self._file, number, what)
        problems.clear()

    def _boot(self, name: SegmentName) -> BootReport:
        boots = self._report.boots
        if not boots or boots[-1].boot != name.boot:
            boots.append(BootReport(name.boot, name.first_seq))
            self._last = name.first_seq - 1
            self._checkpoint = None
            self._has_checksums = False
        return boots[-1]

    def _record(self, boot: BootReport, line: Line) -> None:
        envelope = read_envelope(line)
        assert isinstance(envelope, Envelope)  # only such lines are in a complete change
        if envelope.seq <= self._last:
            return  # the record was written twice, after a failure of the disk
        if envelope.seq != self._last + 1:
            boot.holes.append((self._last + 1, envelope.seq - 1))
            boot.lost_records += envelope.seq - self._last - 1
            self._end_checkpoint(boot)
        self._last = boot.last_seq = envelope.seq
        boot.records += 1
        boot.is_stopped = envelope.kind == "server_stopped"
        if envelope.v != CONTRACT_VERSION:
            self._report.unknown_versions += 1
        else:
            self._check_record(boot, envelope, line)
        if self._has_checksums and check_line(line.data) is Checksum.ABSENT:
            self._report.add(self._file, line.number, "its checksum was removed: its boot writes checksums")

    def _check_record(self, boot: BootReport, envelope: Envelope, line: Line) -> None:
        checkpoint = self._checkpoint
        if envelope.kind == "checkpoint_begin":
            self._end_checkpoint(boot)
            self._checkpoint = _CheckpointCount(envelope.seq)
        elif envelope.kind == "server_started":
            self._check_started(boot, line)
        elif envelope.kind == "segments_deleted":
            names = map(SegmentName.parse, _decode(line, _DeletedPart, _DeletedPart()).segments)
            self._last_deleted |= {(name.boot, name.last_seq) for name in names if name is not None}
        elif checkpoint is not None and envelope.checkpoint == checkpoint.begin:
            if envelope.kind != "checkpoint_end":
                checkpoint.counts[envelope.kind] += 1
            elif _decode(line, _CheckpointEndCounts, _CheckpointEndCounts({})).counts == checkpoint.counts:
                boot.complete_checkpoints += 1
                self._checkpoint = None
            else:
                self._end_checkpoint(boot)

    def _check_started(self, boot: BootReport, line: Line) -> None:
        """Compare `server_started` with the folder, and with the boot before."""
        report = self._report
        started = _decode(line, _StartedPart, _StartedPart())
        self._has_checksums = started.checksums
        boot.is_observed = bool(started.observed_addr)
        if report.uuid and started.uuid != report.uuid:
            report.add(
                self._file, line.number, f"its UUID is {started.uuid}, that of the folder {report.uuid}"
            )
        if len(report.boots) < 2:
            self._first_started = started
            return
        before = report.boots[-2]
        if started.previous_boot != before.boot:
            report.add(self._file, line.number, f"the boot before, {started.previous_boot}, is missing")
        elif started.previous_seq > before.last_seq:
            before.holes.append((before.last_seq + 1, started.previous_seq))
            before.lost_records += started.previous_seq - before.last_seq

    def _end_checkpoint(self, boot: BootReport) -> None:
        if self._checkpoint is not None:
            boot.incomplete_checkpoints += 1
            self._checkpoint = None


def _decode(line: Line, kind: type[T], default: T) -> T:
    try:
        return msgspec.json.decode(line.data, type=kind)
    except UNREADABLE_JSON:
        return default


def _quarantined(folder: str, system: Os) -> list[str]:
    try:
        return sorted(system.listdir(str(Path(folder) / QUARANTINE)))
    except OSError:
        return []
