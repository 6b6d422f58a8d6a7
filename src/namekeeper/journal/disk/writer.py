"""From the backlog to the disk, step by step, whatever the disk does.

A writer belongs to one thread. When the disk fails it keeps what is not synced, and takes no more from the
backlog until the disk is back: the backlog is where changes are dropped, counted. When the folder is not ours
everything is dropped, and there will be a new beginning if it becomes ours.
"""

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from namekeeper.errors import JournalError
from namekeeper.files import Os
from namekeeper.journal.contract.encode import Stamp
from namekeeper.journal.disk.archive import Archive
from namekeeper.journal.disk.folder import SEAL_REQUEST, FolderLock, open_folder, reopen_folder
from namekeeper.journal.disk.lock import TakeLock, take_lock
from namekeeper.journal.disk.output import Opened, Output, WriteBatch
from namekeeper.journal.disk.recovery import recover
from namekeeper.journal.queue.backlog import Backlog, Entry
from namekeeper.journal.queue.messages import CheckpointNeeded, FolderReady, FolderRefused, WriterMessage
from namekeeper.journal.settings import WriterSettings
from namekeeper.model.now import Now

__all__ = ["Writer"]

log = logging.getLogger("namekeeper.journal")

OPEN_AGAIN_MS = 30_000
"""How often a folder that is refused is tried again: somebody may have mended it."""
RETRY_MS = 1_000
"""How soon after a failure the disk is tried again."""
LOOK_MS = 1_000
"""How often it is looked whether the segment is still there, and whether sealing is asked for."""
RETAIN_MS = 600_000
"""How often retention looks besides after each sealing."""
WRITE_BYTES = 1 << 20
BREATH_BYTES = 24 * 1024
"""Encoded between two pauses, under a millisecond: the event loop waits for the interpreter meanwhile."""
MANY_SEGMENTS = 4
PIECES = 4
"""Pieces of sealing done in one step, so that what waits is not kept waiting."""


class _OpenFolder(Struct, frozen=True):
    """What there is while a folder is ours."""

    hold: FolderLock
    archive: Archive
    output: Output

    def has(self, file: str, system: Os) -> bool:
        """Whether there is such a file in the folder."""
        try:
            system.stat(self.path(file))
        except FileNotFoundError:
            return False
        return True

    def path(self, file: str) -> str:
        """Path of a file in the folder."""
        return str(Path(self.hold.path) / file)


class Writer:
    """Takes from a backlog, writes to a folder; what is public may be read from any thread."""

    def __init__(
        self,
        settings: WriterSettings,
        backlog: Backlog,
        *,
        breathe: Callable[[], None] = lambda: None,
        lock: TakeLock = take_lock,
        system: Os = os,
    ) -> None:
        """Prepare; the first step opens the folder.

        Args:
            settings: Where and how.
            backlog: What it takes from.
            breathe: Called between pieces of long work, to let the event loop go on.
            lock: Takes the lock of the folder.
            system: Where the folder is.
        """
        self.trouble = ""
        """What is wrong now, in one line; empty if nothing is."""
        self.opened: Opened | None = None
        self.disk_bytes = 0
        self.lost_records = 0
        """Records that were queued and can't be written any more."""
        self.messages: deque[WriterMessage] = deque()
        """For the event loop, which takes from the left."""
        self._settings = settings
        self._backlog = backlog
        self._breathe = breathe
        self._lock = lock
        self._system = system
        self._work: _OpenFolder | None = None
        self._looked_at_ms = 0
        self._retained_at_ms = 0
        self._retry_at_ms = 0
        self._waits_for_first = False
        """Whether entries are of a beginning that was refused, until one with seq 1 comes."""
        self._is_sealing_on_request = False
        self._has_lost_file = False

    @property
    def durable_seq(self) -> int:
        """The newest record that a crash of the machine can't take; 0 while the folder is refused."""
        work = self._work
        return 0 if work is None else work.output.durable_seq

    @property
    def written_bytes(self) -> int:
        """Bytes of lines written since the folder was opened."""
        work = self._work
        return 0 if work is None else work.output.written_bytes

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do but to wait for entries and for the time to pass."""
        work = self._work
        return work is None or (work.output.is_synced and not work.archive.is_busy)

    def step(self, now: Now) -> None:
        """Do what is to be done now; whatever goes wrong is told in `trouble` and tried again."""
        work = self._work
        if work is None:
            work = self._open(now) if now.mono_ms >= self._retry_at_ms else None
        if work is None:
            self._discard()
            return
        if self.trouble and now.mono_ms < self._retry_at_ms:
            return
        try:
            if self.trouble:
                work = self._go_on(work, now)
            self._look_around(work, now)
            self._write_waiting(work, now)
            work.output.do_what_is_due(now)
            self._tidy(work, now)
        except OSError as error:
            self._fail(work, error, now)
        except JournalError as error:
            self._refuse(error, now)

    def close(self, now: Now) -> None:
        """Write and seal everything, give the folder back; what can't be written is counted as lost."""
        self._retry_at_ms = now.mono_ms
        self.step(now)
        work = self._work
        if work is None:
            return
        try:
            if not self.trouble:
                work.output.rotate()
                while work.archive.is_busy:
                    work.archive.step()
        except OSError as error:
            self._fail(work, error, now)
        self._count_disk_bytes(work)
        self.lost_records += work.output.give_up()
        self._discard()
        work.hold.release()

    def note_clock_step(self, step_ms: int, now: Now) -> None:
        """The wall clock made a step: age is not judged for a while if it was a large one."""
        work = self._work
        if work is not None:
            work.archive.age_pause.note_step(step_ms, now.mono_ms)

    # Opening, and going on after failures.

    def _open(self, now: Now) -> _OpenFolder | None:
        settings = self._settings
        try:
            hold = open_folder(
                settings.folder, settings.namesrv, is_configured=settings.is_configured,
                lock=self._lock, system=self._system,
            )  # fmt: skip
        except JournalError as error:
            self._refuse(error, now)
            return None
        try:
            self._work = self._begin(hold, now)
        except OSError as error:
            hold.release()
            self._refuse(JournalError(f"{hold.path} can't be used: {error.strerror or error}"), now)
            return None
        if self.trouble:
            self.trouble = ""
            self.messages.append(FolderReady())
        return self._work

    def _begin(self, hold: FolderLock, now: Now) -> _OpenFolder:
        settings, system, identity = self._settings, self._system, hold.identity
        recovery = recover(hold.path, identity, system=system)
        archive = Archive(hold.path, identity, settings.limits, system=system)
        newest_ts = 0 if archive.newest is None else archive.newest_ts(archive.newest)
        archive.age_pause.note_start(newest_ts=newest_ts, wall_ms=now.wall_ms, mono_ms=now.mono_ms)
        first = self._backlog.first()  # it was recorded before there was a writer
        boot = max(now.wall_ms if first is None else first.ts, recovery.previous_boot + 1)
        self.opened = opened = Opened(
            hold.path, identity.namesrv, identity.uuid, boot, recovery.previous_boot, recovery.previous_seq
        )
        output = Output(opened, settings.segments, archive, written=self._backlog.done, system=system)
        self._looked_at_ms = self._retained_at_ms = now.mono_ms
        for note in (*hold.notes, *recovery.notes):
            log.warning("journal: %s", note)
        log.info("journal: %s writes to %s, boot %d", identity.namesrv, hold.path, boot)
        work = _OpenFolder(hold, archive, output)
        self._count_disk_bytes(work)
        return work

    def _refuse(self, error: JournalError, now: Now) -> None:
        """The folder is not ours: nothing more of this boot can be written."""
        if str(error) != self.trouble:
            log.error("no journal: %s", error)
        self.trouble = str(error)
        self._retry_at_ms = now.mono_ms + OPEN_AGAIN_MS
        work, self._work = self._work, None
        if work is not None:
            work.output.put_away()
            self.lost_records += work.output.give_up()
            work.hold.release()
        self._waits_for_first = True
        self._discard()
        self.messages.append(FolderRefused())

    def _discard(self) -> None:
        while (entry := self._backlog.take()) is not None:
            self._lose(entry)

    def _lose(self, entry: Entry) -> None:
        self.lost_records += entry.records
        self._backlog.done(entry.weight)

    def _fail(self, work: _OpenFolder, error: OSError, now: Now) -> None:
        """The disk failed: put the segment away, keep what is not synced, try again later."""
        reason = f"{work.hold.path}: {error.strerror or error}"
        if not self.trouble:
            log.error("the journal can't be written, changes wait or are dropped: %s", reason)
        self.trouble = reason
        self._retry_at_ms = now.mono_ms + RETRY_MS
        work.output.put_away()

    def _go_on(self, work: _OpenFolder, now: Now) -> _OpenFolder:
        """Try the disk again, with what was not synced."""
        hold, is_new = reopen_folder(work.hold, lock=self._lock, system=self._system)
        self._work = work = _OpenFolder(hold, work.archive, work.output)
        work.output.write_again(now)
        if is_new or self._has_lost_file:
            self._has_lost_file = False
            self.messages.append(CheckpointNeeded("recovery"))
        log.info("journal: %s can be written again", hold.path)
        self.trouble = ""
        return work

    # Writing.

    def _write_waiting(self, work: _OpenFolder, now: Now) -> None:
        batch = WriteBatch()
        while (entry := self._backlog.take()) is not None:
            lines = self._encode(entry)
            if lines is None:
                work.output.spoil_checkpoint()
                self._lose(entry)
                continue
            batch.add(entry, lines)
            if batch.size >= WRITE_BYTES:
                work.output.write(batch, now)
                batch = WriteBatch()
        if batch.lines:
            work.output.write(batch, now)

    def _encode(self, entry: Entry) -> list[bytes] | None:
        """The lines of an entry; None if it belongs to a beginning that was refused, or if there is a bug."""
        opened = self.opened
        assert opened is not None
        if self._waits_for_first and entry.seq != 1:
            return None
        self._waits_for_first = False
        stamp = Stamp(opened.namesrv, opened.boot, entry.seq, entry.ts, entry.up_ms)
        lines: list[bytes] = []
        size = 0
        try:
            for line in entry.encode(stamp):
                lines.append(line)
                size += len(line)
                if size >= BREATH_BYTES:
                    self._breathe()
                    size = 0
        except Exception:
            log.exception("a change could not be written to the journal: seq %d", entry.seq)
            return None
        return lines

    # Looking after the folder.

    def _look_around(self, work: _OpenFolder, now: Now) -> None:
        if now.mono_ms - self._looked_at_ms < LOOK_MS:
            return
        self._looked_at_ms = now.mono_ms
        try:
            work.output.look()
        except FileNotFoundError:
            self._has_lost_file = True
            raise
        if work.has(SEAL_REQUEST, self._system):
            self._is_sealing_on_request = True
            work.output.rotate()
        self._count_disk_bytes(work)

    def _tidy(self, work: _OpenFolder, now: Now) -> None:
        """Seal a little; when something was sealed, or from time to time, look what may go."""
        archive = work.archive
        was_busy = archive.is_busy
        for _ in range(PIECES):
            # Changes first: sealing can wait, unless there is much of it.
            if archive.is_busy and (not self._backlog or archive.waiting >= MANY_SEGMENTS):
                archive.step()
        if archive.is_busy:
            return
        if self._is_sealing_on_request:
            with contextlib.suppress(FileNotFoundError):
                self._system.unlink(work.path(SEAL_REQUEST))
            self._is_sealing_on_request = False
        if was_busy or now.mono_ms - self._retained_at_ms >= RETAIN_MS:
            self._retain(work, now)

    def _retain(self, work: _OpenFolder, now: Now) -> None:
        self._retained_at_ms = now.mono_ms
        archive, output = work.archive, work.output
        deleted = archive.retain(now, checkpoint=output.checkpoint, open_bytes=output.size)
        if deleted is not None:
            self.messages.append(deleted)
        if archive.needs_checkpoint:
            self.messages.append(CheckpointNeeded("retention"))
        self._count_disk_bytes(work)

    def _count_disk_bytes(self, work: _OpenFolder) -> None:
        self.disk_bytes = work.archive.size + work.output.size
