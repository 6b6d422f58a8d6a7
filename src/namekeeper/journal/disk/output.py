"""Writes the segments of one boot: batches, syncing, closing, and writing again after a failure."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from namekeeper.files import Os
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.archive import Archive
from namekeeper.journal.disk.segment import OpenSegment
from namekeeper.journal.queue.backlog import Entry, Mark
from namekeeper.journal.settings import Fsync, SegmentSettings
from namekeeper.model.now import Now

__all__ = ["Opened", "Output", "WriteBatch"]

UNSYNCED_BYTES = 8 << 20
"""Most bytes of unsynced batches in memory; at this size the writer syncs at once."""


class Opened(Struct, frozen=True):
    """An open folder, and the boot that writes to it."""

    folder: str
    namesrv: str
    uuid: str
    boot: int
    previous_boot: int
    previous_seq: int
    previous_alive_ts: int = 0
    """Time until which that boot ran, see `HeardTimes.ran_until`."""


class WriteBatch(Struct):
    """Complete changes that are written together."""

    first_seq: int = 0
    last_seq: int = 0
    weight: int = 0
    """Weight of the entries; 0 after they were written for the first time."""
    size: int = 0
    lines: list[bytes] = field(default_factory=list)
    marks: list[tuple[Mark, int]] = field(default_factory=list)

    def add(self, entry: Entry, lines: list[bytes]) -> None:
        """Add a change."""
        self.first_seq = self.first_seq or entry.seq
        self.last_seq = entry.last_seq
        self.weight += entry.weight
        self.size += sum(map(len, lines))
        self.lines += lines
        if entry.mark is not Mark.NONE:
            self.marks.append((entry.mark, entry.last_seq))


class Output:
    """Writes batches to segments; used in the writer's thread only."""

    def __init__(
        self,
        opened: Opened,
        settings: SegmentSettings,
        archive: Archive,
        *,
        written: Callable[[int], None],
        system: Os = os,
    ) -> None:
        """Prepare.

        Args:
            opened: The folder and the boot.
            settings: When to sync and to seal.
            archive: Seals closed segments.
            written: Called with the weight of entries that were written.
            system: The file system.
        """
        self.written_seq = 0
        self.durable_seq = 0
        self.written_bytes = 0
        self.checkpoint: tuple[int, int] | None = None
        """Position of the segment in which the newest complete and durable checkpoint begins."""
        self._opened = opened
        self._settings = settings
        self._archive = archive
        self._written = written
        self._system = system
        self._segment: OpenSegment | None = None
        self._segment_since_ms = 0
        self._unsynced: list[WriteBatch] = []
        """Batches to write again if the disk fails before they are synced."""
        self._unsynced_since_ms = 0
        self._empty_segment: SegmentName | None = None
        """A segment without synced data, left by a failure: it is deleted before its name is used again."""
        self._checkpoint_began: tuple[int, int] | None = None
        self._checkpoint_ended: tuple[int, tuple[int, int]] | None = None
        """Last seq of a checkpoint that may not be durable, and the position of its first segment."""

    @property
    def is_synced(self) -> bool:
        """Whether everything written is synced."""
        return not self._unsynced

    @property
    def size(self) -> int:
        """Bytes of the segment that is being written."""
        return 0 if self._segment is None else self._segment.size

    def write(self, batch: WriteBatch, now: Now) -> None:
        """Write complete changes; close the segment when it is full.

        Raises:
            OSError: The disk failed; call `put_away`.
        """
        if not self._unsynced:
            self._unsynced_since_ms = now.mono_ms
        self._unsynced.append(batch)
        self._put(batch, now)
        fsync = self._settings.fsync
        if fsync is Fsync.NEVER:
            self._unsynced.clear()
        elif fsync is Fsync.ALWAYS or sum(waiting.size for waiting in self._unsynced) >= UNSYNCED_BYTES:
            self.sync()
        if self.size >= self._settings.segment_bytes:
            self.rotate()

    def sync_and_close_by_clock(self, now: Now) -> None:
        """Sync and close the segment by the clock.

        Raises:
            OSError: The disk failed; call `put_away`.
        """
        if self._unsynced and now.mono_ms - self._unsynced_since_ms >= self._settings.fsync_interval_ms:
            self.sync()
        if now.mono_ms - self._segment_since_ms >= self._settings.segment_ms:
            self.rotate()

    def sync(self) -> None:
        """Sync everything written.

        Raises:
            OSError: The disk failed; call `put_away`.
        """
        if self._segment is not None:
            self._segment.sync()
            self.durable_seq = self.written_seq
        self._unsynced.clear()
        if self._checkpoint_ended is not None and self._checkpoint_ended[0] <= self.durable_seq:
            self.checkpoint = self._checkpoint_ended[1]
            self._checkpoint_ended = None

    def rotate(self) -> None:
        """Close the segment, if there is one, and give it to the archive; the next record begins another.

        Raises:
            OSError: The disk failed; call `put_away`.
        """
        if self._segment is None:
            return
        self.sync()
        segment, self._segment = self._segment, None
        self._archive.seal(segment.name, self.written_seq, segment.crc)
        segment.close()

    def check_segment(self) -> None:
        """Check that the segment still exists: a folder can be deleted while a file in it is open.

        Raises:
            FileNotFoundError: It has vanished.
        """
        if self._segment is not None and not self._segment.is_there():
            raise FileNotFoundError(0, f"{self._segment.name} has vanished")

    def spoil_checkpoint(self) -> None:
        """Note that a record is missing: so a checkpoint that is being written will be incomplete."""
        self._checkpoint_began = None

    def put_away(self) -> None:
        """Close the segment after a failure, with its synced data; the rest will be written again."""
        segment, self._segment = self._segment, None
        if segment is None:
            return
        never = self._settings.fsync is Fsync.NEVER
        size = segment.size if never else segment.synced_size
        segment.abandon(size)
        if size:
            self._archive.seal(segment.name, None)
        else:
            self._empty_segment = segment.name

    def write_again(self, now: Now) -> None:
        """Write what was not synced when the disk failed, to a new segment.

        Raises:
            OSError: The disk failed again; call `put_away`.
        """
        if self._empty_segment is not None:
            with contextlib.suppress(FileNotFoundError):
                self._system.unlink(str(Path(self._opened.folder) / str(self._empty_segment)))
            self._empty_segment = None
        for batch in self._unsynced:
            self._put(batch, now)
        self.sync()

    def give_up(self) -> int:
        """Drop what would have to be written again; returns how many records that is."""
        lost = 0
        for batch in self._unsynced:
            lost += batch.last_seq - batch.first_seq + 1
            self._written(batch.weight)
        self._unsynced.clear()
        return lost

    def _put(self, batch: WriteBatch, now: Now) -> None:
        segment = self._segment
        if segment is None:
            segment = self._segment = self._new_segment(batch.first_seq)
            self._segment_since_ms = now.mono_ms
        segment.write(b"".join(batch.lines))
        self.written_seq = batch.last_seq
        self.written_bytes += batch.size
        self._written(batch.weight)
        batch.weight = 0
        position = (segment.name.boot, segment.name.first_seq)
        for mark, seq in batch.marks:
            if mark is Mark.CHECKPOINT_BEGIN:
                self._checkpoint_began = position
            elif self._checkpoint_began is not None:
                self._checkpoint_ended = (seq, self._checkpoint_began)

    def _new_segment(self, first_seq: int) -> OpenSegment:
        opened = self._opened
        name = SegmentName(
            namesrv=opened.namesrv, uuid8=opened.uuid[:8], boot=opened.boot, first_seq=first_seq
        )
        return OpenSegment(opened.folder, name, system=self._system)
