"""Segments on disk: writing, syncing, sealing.

Sealing writes a compressed copy beside the segment, syncs it, renames it to the name with its last seq,
syncs the folder, and only then removes the open file. So one complete file is there whenever the machine
crashes. The folder is also synced before anything in a new segment counts as durable.
"""

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from namekeeper.files import Os, create_file, read_chunks, sync_folder, write_all
from namekeeper.journal.contract.blocks import SEGMENT_BYTES_LIMIT, Block, BlockPacker, parts_of
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.folder import UNFINISHED

__all__ = ["OpenSegment", "SealedCopy", "SegmentAlteredError", "read_parts", "read_segment", "sealing"]

_WRITE_BYTES = 256 * 1024
_STEP_BYTES = 64 * 1024
"""Looked through in one step of sealing, in about a millisecond: the event loop may wait for the
interpreter lock."""


class SegmentAlteredError(Exception):
    """The content of an open segment is not what was written to it."""


class OpenSegment:
    """The segment that is being written."""

    def __init__(self, folder: str, name: SegmentName, *, system: Os = os) -> None:
        """Create the file.

        Raises:
            OSError: It can't be created.
        """
        self.name = name
        self.size = 0
        """Bytes written."""
        self.synced_size = 0
        """Bytes that survive a crash of the machine."""
        self.crc = 0
        """CRC-32 of the bytes written."""
        self._folder = folder
        self._system = system
        self._path = str(Path(folder) / str(name))
        self._fd: int | None = create_file(self._path, system=system)
        self._name_is_synced = False

    def write(self, data: bytes) -> None:
        """Append complete changes.

        Raises:
            OSError: A part of them may have been written; call `abandon`.
        """
        write_all(self._descriptor(), data, self._system)
        self.size += len(data)
        self.crc = zlib.crc32(data, self.crc)

    def sync(self) -> None:
        """Sync everything written, and the name of the file.

        Raises:
            OSError: Bytes that were not synced before may be lost; call `abandon`.
        """
        self._system.fsync(self._descriptor())
        if not self._name_is_synced:
            sync_folder(self._folder, self._system)
            self._name_is_synced = True
        self.synced_size = self.size

    def is_there(self) -> bool:
        """Whether the file still exists: a folder can be deleted while a file in it is open."""
        try:
            found = self._system.stat(self._path)
        except OSError:
            return False
        return found.st_ino == self._system.fstat(self._descriptor()).st_ino

    def close(self) -> None:
        """Close it; may be called twice."""
        fd, self._fd = self._fd, None
        if fd is not None:
            self._system.close(fd)

    def abandon(self, size: int) -> None:
        """Close it after a failure; if the disk allows, cut it to `size` bytes of complete changes."""
        with contextlib.suppress(OSError):
            self._system.ftruncate(self._descriptor(), size)
        with contextlib.suppress(OSError):
            self.close()

    def _descriptor(self) -> int:
        assert self._fd is not None, "the segment is closed"
        return self._fd


class SealedCopy:
    """The compressed copy of a segment; it gets its name when it is complete."""

    def __init__(self, folder: str, name: SegmentName, *, system: Os = os) -> None:
        """Create the file under a temporary name.

        Args:
            folder: The journal's folder.
            name: Name of the open segment.
            system: The file system.

        Raises:
            OSError: It can't be created.
        """
        self._folder, self._name, self._system = folder, name, system
        self._path = str(Path(folder) / f"{name}{UNFINISHED}")
        with contextlib.suppress(FileNotFoundError):
            system.unlink(self._path)
        self._packer = BlockPacker(name)
        self._packed: list[bytes] = []
        self._fd: int | None = create_file(self._path, system=system)

    def add(self, data: bytes) -> None:
        """Add lines.

        Raises:
            OSError: They can't be written; call `abandon`.
        """
        self._packed.append(self._packer.add(data))
        if sum(map(len, self._packed)) >= _WRITE_BYTES:
            self._write()

    def finish(self, last_seq: int) -> SegmentName:
        """Complete the copy, rename it and remove the open segment; returns its name.

        Raises:
            OSError: The disk failed; call `abandon`. The open segment is still there.
        """
        system, folder = self._system, self._folder
        self._packed.append(self._packer.finish())
        self._write()
        system.fsync(self._descriptor())
        self._close()
        sealed = structs.replace(self._name, last_seq=last_seq, form=".gz")
        system.replace(self._path, str(Path(folder) / str(sealed)))
        sync_folder(folder, system)
        with contextlib.suppress(FileNotFoundError):
            system.unlink(str(Path(folder) / str(self._name)))
        return sealed

    def abandon(self) -> None:
        """Remove the incomplete copy; may be called twice."""
        with contextlib.suppress(OSError):
            self._close()
        with contextlib.suppress(OSError):
            self._system.unlink(self._path)

    def _write(self) -> None:
        data = b"".join(self._packed)
        self._packed.clear()
        write_all(self._descriptor(), data, self._system)

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            self._system.close(fd)

    def _descriptor(self) -> int:
        assert self._fd is not None, "the copy is closed"
        return self._fd


def sealing(
    folder: str, name: SegmentName, last_seq: int, *, crc: int | None = None, system: Os = os
) -> Iterator[None]:
    """Seal a segment that ends with a complete change; each step takes a few milliseconds.

    Args:
        folder: The journal's folder.
        name: Name of the open segment.
        last_seq: Seq of its last record.
        crc: CRC-32 of what was written to it; None: not known.
        system: The file system.

    Raises:
        SegmentAlteredError: It is not what was written; it is still there.
        OSError: The disk failed; the open segment is still there.
    """
    found = 0
    copy = SealedCopy(folder, name, system=system)
    try:
        for chunk in _chunks_of(folder, name, system):
            found = zlib.crc32(chunk, found)
            for start in range(0, len(chunk), _STEP_BYTES):
                copy.add(chunk[start : start + _STEP_BYTES])
                yield
        _check_sum(crc, found)
        copy.finish(last_seq)
    except (OSError, SegmentAlteredError):
        copy.abandon()
        raise


def _check_sum(written: int | None, found: int) -> None:
    if written not in {None, found}:
        raise SegmentAlteredError


def read_segment(folder: str, name: SegmentName, *, system: Os = os) -> Iterator[bytes]:
    """The uncompressed content of a segment, in chunks.

    Raises:
        OSError: It can't be read.
        EOFError: The compressed file is torn; the chunks before were given.
        zlib.error: The compressed file is broken; the chunks before were given.
    """
    for part in read_parts(folder, name, system=system):
        if isinstance(part, Block):
            yield part.text()
        else:
            yield from part


def read_parts(folder: str, name: SegmentName, *, system: Os = os) -> Iterator[Block | Iterator[bytes]]:
    """The content of a segment: its blocks, and the bytes outside of blocks as uncompressed chunks.

    Raises:
        OSError: It can't be read; so do the chunks.
        EOFError: The compressed file is torn.
        zlib.error: The compressed file is broken.
    """
    chunks = _chunks_of(folder, name, system)
    if name.form == ".gz":
        yield from parts_of(chunks, name)
    else:
        yield chunks


def _chunks_of(folder: str, name: SegmentName, system: Os) -> Iterator[bytes]:
    return read_chunks(str(Path(folder) / str(name)), limit=SEGMENT_BYTES_LIMIT, system=system)
