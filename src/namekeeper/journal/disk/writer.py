"""Writes entries of the backlog to the disk, and goes on after failures.

One thread uses a writer. When the disk fails, the writer keeps the unsynced lines and takes no more entries
until the disk works again. Meanwhile the backlog fills; a full backlog drops changes and counts them. When
the folder can't be used at all, the writer drops every entry. A new boot begins when the folder can be used.
"""

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.errors import JournalError
from namekeeper.files import Os
from namekeeper.journal.contract.encode import Stamp
from namekeeper.journal.disk.archive import Archive
from namekeeper.journal.disk.folder import SEAL_REQUEST, FolderLock, open_folder, reopen_folder
from namekeeper.journal.disk.heard_file import HeardTimes, load_heard, save_heard
from namekeeper.journal.disk.identity import IDENTITY_FILE
from namekeeper.journal.disk.last_boot import LastBootNote
from namekeeper.journal.disk.lock import TakeLock, take_lock
from namekeeper.journal.disk.missing_file import save_missing
from namekeeper.journal.disk.output import Opened, Output, WriteBatch
from namekeeper.journal.disk.recovery import recover
from namekeeper.journal.queue.backlog import Backlog, Entry, Mark
from namekeeper.journal.queue.messages import CheckpointNeeded, FolderReady, FolderRefused, WriterMessage
from namekeeper.journal.settings import WriterSettings
from namekeeper.model.now import Now
from namekeeper.route.missing import MissingRows

__all__ = ["Writer"]

log = logging.getLogger("namekeeper.journal")

OPEN_AGAIN_MS = 30_000
"""Time between two tries to open a refused folder: an operator may have repaired it."""
RETRY_MS = 1_000
"""Time between a failure of the disk and the next try."""
CHECK_MS = 1_000
"""How often the writer checks that the segment still exists, and whether sealing is requested; it does so
before it writes when brokers were heard, too."""
RETAIN_MS = 600_000
"""How often retention runs, besides after each sealing."""
WRITE_BYTES = 1 << 20
ENCODE_BYTES = 24 * 1024
"""Bytes encoded between two pauses, in under a millisecond: the event loop may wait for the interpreter
lock."""
STEP_BYTES = 4 << 20
"""Bytes written in one step: so the folder is checked, sealed and kept small however much waits."""
MANY_SEGMENTS = 4
"""If this many segments wait to be sealed, sealing goes on even while entries wait."""
SEAL_STEPS = 4
"""Steps of sealing in one step of the writer: few, because entries wait meanwhile."""
SEAL_STEPS_OF_MANY = 20
"""Steps of sealing when many segments wait: more text than one step of the writer writes."""
SPARE_BYTES = 256 << 20
"""If the folder is larger than twice its limit plus this, records are lost until a checkpoint begins."""


class _OpenFolder(Struct, frozen=True):
    """A folder that is locked, and what writes to it."""

    held: FolderLock
    archive: Archive
    output: Output
    last_boot: LastBootNote

    def has(self, file: str, system: Os) -> bool:
        """Whether a file exists in the folder."""
        try:
            system.stat(self.path(file))
        except FileNotFoundError:
            return False
        return True

    def path(self, file: str) -> str:
        """Path of a file in the folder."""
        return str(Path(self.held.path) / file)


class Writer:
    """Takes entries from a backlog and writes them to a folder; any thread may read its public attributes."""

    is_settled = False
    """Whether everything is on disk for good. Only sealing is left, which the next start does as well."""
    progress = 0
    """A number that rises while records are encoded and written."""
    _refused_missing: Callable[[], MissingRows] | None = None
    """The newest missing brokers that the disk refused, to be written by the next check."""

    def __init__(
        self,
        settings: WriterSettings,
        backlog: Backlog,
        *,
        pause: Callable[[], None] = lambda: None,
        lock: TakeLock = take_lock,
        system: Os = os,
    ) -> None:
        """Prepare; the first step opens the folder.

        Args:
            settings: Where and how to write.
            backlog: The queue.
            pause: Called in long folder, to let the event loop go on.
            lock: Takes the lock of the folder.
            system: The file system.
        """
        self.trouble = ""
        """The present problem, in one line; empty if there is none."""
        self.opened: Opened | None = None
        self.disk_bytes = 0
        self.lost_records = 0
        """Records that were queued and then lost."""
        self.messages: deque[WriterMessage] = deque()
        """For the event loop, which takes the oldest."""
        self._settings = settings
        self._backlog = backlog
        self._pause = pause
        self._lock = lock
        self._system = system
        self._folder: _OpenFolder | None = None
        self._checked_at_ms = self._retained_at_ms = 0
        self._retry_at_ms = 0
        self._waits_for_first = False
        """Whether entries belong to a refused boot: they are lost until an entry with seq 1 begins another
        boot."""
        self._is_sealing_on_request = False
        self._has_lost_file = False
        self._is_closing = False
        """Whether nothing is deleted any more: it could not be recorded."""
        self._is_full = False
        """Whether entries are lost because the folder is too large."""
        self._heard: HeardTimes | None = None
        """Times that are not written yet."""
        self._missing: Callable[[], MissingRows] | None = None
        self._full_from = 0
        """Least number of bytes written before that happens: a checkpoint must have a chance."""

    @property
    def durable_seq(self) -> int:
        """Seq of the newest record that survives a crash of the machine; 0 while the folder is refused."""
        folder = self._folder
        return 0 if folder is None else folder.output.durable_seq

    @property
    def written_bytes(self) -> int:
        """Bytes of lines written since the folder was opened."""
        folder = self._folder
        return 0 if folder is None else folder.output.written_bytes

    @property
    def is_idle(self) -> bool:
        """Whether everything is synced and sealed as far as it is due."""
        folder = self._folder
        return folder is None or (folder.output.is_synced and not folder.archive.is_busy)

    @property
    def must_shrink(self) -> bool:
        """Whether the folder is larger than it may be, and will be smaller when segments are sealed."""
        folder = self._folder
        if folder is None or not folder.archive.is_busy:
            return False
        return folder.archive.size + folder.output.size > self._settings.limits.max_bytes

    def step(self, now: Now) -> None:
        """Do the work that is due; after a failure, set `trouble` and try again later."""
        folder = self._folder
        if folder is None:
            folder = self._open(now) if now.mono_ms >= self._retry_at_ms else None
        if folder is None:
            self._discard()
            return
        if self.trouble and now.mono_ms < self._retry_at_ms:
            return
        try:
            if self.trouble:
                folder = self._go_on(folder, now)
            self._check_folder(folder, now)
            self._write_waiting(folder, now)
            folder.output.sync_and_close_by_clock(now)
            folder.last_boot.note_once(folder.output.durable_seq)
            self._seal_and_retain(folder, now)
        except OSError as error:
            self._fail(folder, error, now)
        except JournalError as error:
            self._refuse(error, now)

    def close(self, now: Now) -> None:
        """Write and seal everything and release the folder; what can't be written is counted as lost."""
        self._retry_at_ms = now.mono_ms
        self._is_closing = True
        self.step(now)
        folder = self._folder
        if folder is None:
            return
        try:
            if not self.trouble:
                folder.output.rotate()
        except OSError as error:
            self._fail(folder, error, now)
        folder.last_boot.note(folder.output.durable_seq)
        self._save_beside(folder)
        self.is_settled = not self.trouble and not self._backlog
        try:
            while not self.trouble and folder.archive.is_busy:
                folder.archive.step()
        except OSError as error:
            self._fail(folder, error, now)
        self._count_disk_bytes(folder)
        self.lost_records += folder.output.give_up()
        self._discard()
        folder.held.release()

    def note_clock_step(self, step_ms: int, now: Now) -> None:
        """Note a step of the wall clock: after a large one nothing is deleted by age for a day."""
        folder = self._folder
        if folder is not None:
            folder.archive.age_pause.note_step(step_ms, now.mono_ms)

    def note_heard(self, times: HeardTimes) -> None:
        """Take the times at which brokers were last heard; the next step writes them for this boot."""
        self._heard = times

    def note_missing(self, rows: Callable[[], MissingRows]) -> None:
        """Take a function that gives the missing brokers; the next check writes them."""
        self._missing = rows

    # Opening, and going on after failures.

    def _open(self, now: Now) -> _OpenFolder | None:
        settings = self._settings
        try:
            held = open_folder(
                settings.folder, settings.namesrv, is_configured=settings.is_configured,
                lock=self._lock, system=self._system,
            )  # fmt: skip
        except JournalError as error:
            self._refuse(error, now)
            return None
        try:
            self._folder = self._begin(held, now)
        except OSError as error:
            held.release()
            self._refuse(JournalError(f"{held.path} can't be used: {error.strerror or error}"), now)
            return None
        if self.trouble:
            self.trouble = ""
            self.messages.append(FolderReady())
        return self._folder

    def _begin(self, held: FolderLock, now: Now) -> _OpenFolder:
        settings, system, identity = self._settings, self._system, held.identity
        recovery = recover(held.path, identity, system=system)
        archive = Archive(held.path, identity, settings.limits, system=system)
        newest_ts = 0 if archive.newest is None else archive.newest_ts(archive.newest)
        archive.age_pause.note_start(newest_ts=newest_ts, wall_ms=now.wall_ms, mono_ms=now.mono_ms)
        first = self._backlog.first()  # the record has the time of the boot
        boot = max(now.wall_ms if first is None else first.ts, recovery.previous_boot + 1)
        self.opened = opened = Opened(
            held.path, identity.namesrv, identity.uuid, boot, recovery.previous_boot, recovery.previous_seq,
            load_heard(held.path, system=system).ran_until(recovery.previous_boot, recovery.previous_seq),
        )  # fmt: skip
        output = Output(opened, settings.segments, archive, written=self._backlog.done, system=system)
        self._checked_at_ms = self._retained_at_ms = now.mono_ms
        for note in (*held.notes, *recovery.notes):
            log.warning("journal: %s", note)
        log.info("journal: %s writes to %s, boot %d", identity.namesrv, held.path, boot)
        folder = _OpenFolder(held, archive, output, LastBootNote(held.path, identity, boot, system=system))
        self._count_disk_bytes(folder)
        return folder

    def _refuse(self, error: JournalError, now: Now) -> None:
        """The folder can't be used: nothing more of this boot will be written."""
        if str(error) != self.trouble:
            log.error("no journal: %s", error, extra=ON_CONSOLE)
        self.trouble = str(error)
        self._retry_at_ms = now.mono_ms + OPEN_AGAIN_MS
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.output.put_away()
            self.lost_records += folder.output.give_up()
            folder.held.release()
        self._waits_for_first = True
        self._heard = None
        self._discard()
        self.messages.append(FolderRefused())

    def _discard(self) -> None:
        while (entry := self._backlog.take()) is not None:
            self._count_lost(entry)

    def _count_lost(self, entry: Entry) -> None:
        self.lost_records += entry.records
        self._backlog.done(entry.weight)

    def _fail(self, folder: _OpenFolder, error: OSError, now: Now) -> None:
        """The disk failed: close the segment, keep data that is not synced, try again later."""
        reason = f"{folder.held.path}: {error.strerror or error}"
        if not self.trouble:
            log.error("the journal can't be written, changes wait or are dropped: %s", reason)
        self.trouble = reason
        self._retry_at_ms = now.mono_ms + RETRY_MS
        folder.output.put_away()

    def _go_on(self, folder: _OpenFolder, now: Now) -> _OpenFolder:
        """Try the disk again: write what was not synced."""
        held, is_new = reopen_folder(folder.held, lock=self._lock, system=self._system)
        self._folder = folder = structs.replace(folder, held=held)
        folder.output.write_again(now)
        if is_new or self._has_lost_file:
            self._has_lost_file = False
            self.messages.append(CheckpointNeeded("recovery"))
        log.info("journal: %s can be written again", held.path)
        self.trouble = ""
        return folder

    # Writing.

    def _write_waiting(self, folder: _OpenFolder, now: Now) -> None:
        batch = WriteBatch()
        size = 0
        while (size < STEP_BYTES or self._is_closing) and (entry := self._backlog.take()) is not None:
            lines = None if self._is_too_large(entry) else self._encode(entry)
            if lines is None:
                folder.output.spoil_checkpoint()
                self._count_lost(entry)
                continue
            self.progress += 1
            batch.add(entry, lines)
            size += sum(map(len, lines))
            if batch.size >= WRITE_BYTES:
                folder.output.write(batch, now)
                batch = WriteBatch()
        if batch.lines:
            folder.output.write(batch, now)

    def _is_too_large(self, entry: Entry) -> bool:
        """Whether the folder is too large to take an entry.

        Retention deletes nothing before the newest complete checkpoint, which has to wait for room in the
        queue. If entries come faster than that, they are lost until the next checkpoint begins.
        """
        folder = self._folder
        assert folder is not None
        limit = self._settings.limits.max_bytes
        if entry.mark is Mark.CHECKPOINT_BEGIN:
            self._full_from = folder.output.written_bytes + limit
            self._is_full = False
        elif self.disk_bytes > 2 * limit + SPARE_BYTES and folder.output.written_bytes > self._full_from:
            if not self._is_full:
                what = "the journal's folder has %d bytes: records are lost until it is smaller"
                log.error(what, self.disk_bytes)
            self._is_full = True
        return self._is_full

    def _encode(self, entry: Entry) -> list[bytes] | None:
        """The lines of an entry; None if it belongs to a refused boot, or if encoding fails by a bug."""
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
                if size >= ENCODE_BYTES:
                    self.progress += 1
                    self._pause()
                    size = 0
        except Exception:
            log.exception("a change could not be written to the journal: seq %d", entry.seq)
            return None
        return lines

    # Checks, sealing and retention.

    def _check_folder(self, folder: _OpenFolder, now: Now) -> None:
        if self._heard is None and now.mono_ms - self._checked_at_ms < CHECK_MS:
            return
        self._checked_at_ms = now.mono_ms
        if not folder.has(IDENTITY_FILE, self._system):
            raise FileNotFoundError(0, f"{IDENTITY_FILE} has vanished")
        try:
            folder.output.check_segment()
        except FileNotFoundError:
            self._has_lost_file = True
            raise
        self._save_beside(folder)
        if folder.has(SEAL_REQUEST, self._system):
            self._is_sealing_on_request = True
            folder.output.rotate()
        self._count_disk_bytes(folder)

    def _save_beside(self, folder: _OpenFolder) -> None:
        """Write the files beside the records, if there is something new for them."""
        newer, self._missing = self._missing, None
        missing = newer or self._refused_missing
        if missing is not None:
            is_saved = save_missing(folder.held.path, missing, system=self._system)
            self._refused_missing = None if is_saved else missing
        heard, self._heard = self._heard, None
        if heard is not None and self.opened is not None:
            save_heard(folder.held.path, structs.replace(heard, boot=self.opened.boot), system=self._system)

    def _seal_and_retain(self, folder: _OpenFolder, now: Now) -> None:
        """Seal for a few steps; run retention after a sealing and every ten minutes."""
        archive = folder.archive
        has_sealed = False
        for _ in range(SEAL_STEPS_OF_MANY if archive.waiting >= MANY_SEGMENTS else SEAL_STEPS):
            # Entries first: sealing waits, unless many segments wait.
            if archive.is_busy and (not self._backlog or archive.waiting >= MANY_SEGMENTS):
                has_sealed = archive.step() or has_sealed
        if archive.has_altered:
            archive.has_altered = False
            self.messages.append(CheckpointNeeded("recovery"))
        if not archive.is_busy and self._is_sealing_on_request:
            with contextlib.suppress(FileNotFoundError):
                self._system.unlink(folder.path(SEAL_REQUEST))
            self._is_sealing_on_request = False
        if not self._is_closing and (has_sealed or now.mono_ms - self._retained_at_ms >= RETAIN_MS):
            self._retain(folder, now)

    def _retain(self, folder: _OpenFolder, now: Now) -> None:
        self._retained_at_ms = now.mono_ms
        archive, output = folder.archive, folder.output
        deleted = archive.retain(
            now, checkpoint=output.checkpoint, open_bytes=output.size + archive.waiting_bytes
        )
        if deleted is not None:
            self.messages.append(deleted)
        if archive.needs_checkpoint:
            self.messages.append(CheckpointNeeded("retention"))
        self._count_disk_bytes(folder)

    def _count_disk_bytes(self, folder: _OpenFolder) -> None:
        self.disk_bytes = folder.archive.size + folder.output.size
