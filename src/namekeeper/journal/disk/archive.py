"""The sealed segments of a journal: seals closed ones, and deletes old ones by retention."""

import logging
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from namekeeper.files import Os, sync_folder
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import SegmentsDeleted
from namekeeper.journal.disk.folder import list_segments
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.disk.recovery import is_of, last_ts, seal_leftover
from namekeeper.journal.disk.retention import AgePause, Sealed, plan_deletion
from namekeeper.journal.disk.segment import SegmentAlteredError, sealing
from namekeeper.journal.settings import Limits
from namekeeper.model.now import Now

__all__ = ["Archive"]

log = logging.getLogger("namekeeper.journal")


class _SealJob(Struct):
    """A closed segment that is to be sealed."""

    name: SegmentName
    last_seq: int | None
    """None after a failure: then recovery determines which changes are complete."""
    size: int
    """Bytes of the file; 0 if it has vanished."""
    crc: int | None
    """CRC-32 of what was written to it; None: not known."""
    steps: Iterator[None] | None = None


class Archive:
    """Sealed segments of one folder; belongs to the writer's thread."""

    def __init__(self, folder: str, identity: Identity, limits: Limits, *, system: Os = os) -> None:
        """List the sealed segments.

        Raises:
            OSError: The folder can't be read.
        """
        self.needs_checkpoint = False
        """Whether retention waits for a new checkpoint."""
        self.has_altered = False
        """Whether a segment was altered before it was sealed."""
        self.age_pause = AgePause()
        self._folder = folder
        self._limits = limits
        self._system = system
        self._jobs: deque[_SealJob] = deque()
        self._newest_ts: dict[str, int] = {}
        self._sealed: list[Sealed] = []
        for name in list_segments(folder, system=system):
            if is_of(name, identity) and not name.is_open:
                self._keep(name)

    @property
    def size(self) -> int:
        """Bytes of the sealed segments and of those that wait to be sealed."""
        return sum(segment.size for segment in self._sealed) + self.waiting_bytes

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the segments that wait to be sealed."""
        return sum(job.size for job in self._jobs)

    @property
    def newest(self) -> Sealed | None:
        """The newest sealed segment; None if there is none."""
        return self._sealed[-1] if self._sealed else None

    @property
    def is_busy(self) -> bool:
        """Whether a segment waits to be sealed."""
        return bool(self._jobs)

    @property
    def waiting(self) -> int:
        """Number of segments that wait to be sealed."""
        return len(self._jobs)

    def seal(self, name: SegmentName, last_seq: int | None, crc: int | None = None) -> None:
        """Seal a closed segment in the next steps.

        Args:
            name: Its name while open.
            last_seq: Seq of its last record, which ends a change; None after a failure: the end is not known.
            crc: CRC-32 of what was written to it; None: not known.
        """
        try:
            size = self._system.stat(str(Path(self._folder) / str(name))).st_size
        except OSError:
            size = 0
        self._jobs.append(_SealJob(name, last_seq, size, crc))

    def step(self) -> bool:
        """Seal for a few milliseconds; returns whether the segment is sealed, or gone.

        Raises:
            OSError: The disk failed; the next step begins this segment again.
        """
        job = self._jobs[0]
        try:
            is_done = self._advance(job)
        except FileNotFoundError:
            if self._is_there(job.name):
                raise
            log.warning("journal: %s has vanished before it was sealed", job.name)
            self._jobs.popleft()
            return True
        if is_done:
            self._finish(job)
        return is_done

    def newest_ts(self, segment: Sealed) -> int:
        """Time of the newest record of a segment, in wall ms; reads the file the first time.

        Raises:
            OSError: It can't be read.
        """
        if segment.file not in self._newest_ts:
            name = SegmentName.parse(segment.file)
            assert name is not None
            self._newest_ts[segment.file] = last_ts(self._folder, name, system=self._system)
        return self._newest_ts[segment.file]

    def retain(
        self, now: Now, *, checkpoint: tuple[int, int] | None, open_bytes: int
    ) -> SegmentsDeleted | None:
        """Delete what the limits require; returns the record of it, None if nothing was deleted.

        Args:
            now: The time.
            checkpoint: Position of the segment in which the newest complete checkpoint begins, if any.
            open_bytes: Size of the open segment.

        Raises:
            OSError: It can't be deleted.
        """
        deleted: list[Sealed] = []
        reason = ""
        while True:
            plan = plan_deletion(
                self._sealed,
                open_bytes=open_bytes,
                limits=self._limits,
                oldest_allowed_ts=self._oldest_allowed(now),
                newest_ts=self.newest_ts,
                checkpoint=checkpoint,
            )
            self.needs_checkpoint = plan.needs_checkpoint
            if plan.segment is None or (reason and plan.reason != reason):
                break
            reason = plan.reason
            self._delete(plan.segment)
            deleted.append(plan.segment)
        if not deleted:
            return None
        size = sum(segment.size for segment in deleted)
        log.info("journal: deleted %d segments (%d bytes) by %s", len(deleted), size, reason)
        return SegmentsDeleted(segments=[segment.file for segment in deleted], bytes=size, reason=reason)

    def _advance(self, job: _SealJob) -> bool:
        if job.last_seq is None:
            job.last_seq, note = seal_leftover(self._folder, job.name, system=self._system)
            log.info("journal: %s", note)
            return True
        if job.steps is None:
            job.steps = sealing(self._folder, job.name, job.last_seq, crc=job.crc, system=self._system)
        try:
            next(job.steps)
        except StopIteration:
            return True
        except SegmentAlteredError:
            log.warning("journal: %s was altered: its intact lines are sealed", job.name)
            job.last_seq, job.steps = None, None
            self.has_altered = True
        except OSError:
            job.steps = None
            raise
        return False

    def _is_there(self, name: SegmentName) -> bool:
        try:
            self._system.stat(str(Path(self._folder) / str(name)))
        except FileNotFoundError:
            return False
        return True

    def _oldest_allowed(self, now: Now) -> int | None:
        return now.wall_ms - self._limits.max_age_ms if self.age_pause.is_over(now.mono_ms) else None

    def _delete(self, segment: Sealed) -> None:
        self._system.unlink(str(Path(self._folder) / segment.file))
        # Synced one by one: a crash must not leave an older segment with a gap after it.
        sync_folder(self._folder, self._system)
        self._sealed.remove(segment)
        self._newest_ts.pop(segment.file, None)

    def _finish(self, job: _SealJob) -> None:
        self._jobs.popleft()
        if job.last_seq:
            sealed = SegmentName(
                namesrv=job.name.namesrv, uuid8=job.name.uuid8, boot=job.name.boot,
                first_seq=job.name.first_seq, last_seq=job.last_seq, form=".gz",
            )  # fmt: skip
            self._keep(sealed)
            self._sealed.sort(key=lambda segment: segment.position)

    def _keep(self, name: SegmentName) -> None:
        size = self._system.stat(str(Path(self._folder) / str(name))).st_size
        self._sealed.append(Sealed((name.boot, name.first_seq), str(name), size))
