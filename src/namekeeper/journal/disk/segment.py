"""Segments on disk: written, synced, sealed.

A segment is sealed by writing its compressed copy beside it, syncing that, renaming it to the name that says
how far it goes, syncing the folder, and only then removing the open file: whenever the machine dies, one of
the two is there whole. The folder is also synced before anything in a new segment counts as durable.
"""

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from namekeeper.files import Os, create_file, read_chunks, sync_folder, write_all
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.folder import UNFINISHED

__all__ = ["OpenSegment", "SealedCopy", "read_segment", "sealing"]

COMPRESSION_LEVEL = 6
_GZIP = 31
"""zlib's number for the gzip format with the largest window."""
_WRITE_BYTES = 256 * 1024


class OpenSegment:
    """The segment that is being written; made when its first record is there."""

    def __init__(self, folder: str, name: SegmentName, *, system: Os = os) -> None:
        """Create the file.

        Raises:
            OSError: It can't be created.
        """
        self.name = name
        self.size = 0
        """Bytes written."""
        self.synced_size = 0
        """Bytes that a crash can't take."""
        self._folder = folder
        self._system = system
        self._path = str(Path(folder) / str(name))
        self._fd: int | None = create_file(self._path, system=system)
        self._is_named = False

    def write(self, data: bytes) -> None:
        """Append whole changes.

        Raises:
            OSError: A part of them may have been written; call `abandon`.
        """
        write_all(self._descriptor(), data, self._system)
        self.size += len(data)

    def sync(self) -> None:
        """Have everything written survive a crash, the file's name included.

        Raises:
            OSError: Nothing that was not synced before can be relied on; call `abandon`.
        """
        self._system.fsync(self._descriptor())
        if not self._is_named:
            sync_folder(self._folder, self._system)
            self._is_named = True
        self.synced_size = self.size

    def is_there(self) -> bool:
        """Whether the file can still be found under its name: folders vanish while files in them are open."""
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
        """Close it after a failure, cut back to `size` bytes of whole changes as far as the disk lets us."""
        with contextlib.suppress(OSError):
            self._system.ftruncate(self._descriptor(), size)
        with contextlib.suppress(OSError):
            self.close()

    def _descriptor(self) -> int:
        assert self._fd is not None, "the segment is closed"
        return self._fd


class SealedCopy:
    """The compressed copy of a segment, piece by piece; it shows when it is whole."""

    def __init__(self, folder: str, name: SegmentName, *, system: Os = os) -> None:
        """Begin.

        Args:
            folder: The journal's folder.
            name: Name of the open segment.
            system: Where it is done.

        Raises:
            OSError: It can't be created.
        """
        self._folder, self._name, self._system = folder, name, system
        self._path = str(Path(folder) / f"{name}{UNFINISHED}")
        with contextlib.suppress(FileNotFoundError):
            system.unlink(self._path)
        self._packer = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, _GZIP)
        self._packed: list[bytes] = []
        self._fd: int | None = create_file(self._path, system=system)

    def add(self, data: bytes) -> None:
        """Add lines.

        Raises:
            OSError: They can't be written; call `abandon`.
        """
        self._packed.append(self._packer.compress(data))
        if sum(map(len, self._packed)) >= _WRITE_BYTES:
            self._write()

    def finish(self, last_seq: int) -> SegmentName:
        """Show it under its name and remove the open segment.

        Raises:
            OSError: It could not be done; call `abandon`. The open segment is still there.
        """
        system, folder = self._system, self._folder
        self._packed.append(self._packer.flush())
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
        """Remove what there is of it; may be called twice."""
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


def sealing(folder: str, name: SegmentName, last_seq: int, *, system: Os = os) -> Iterator[None]:
    """Seal a segment that ends with a whole change; each step takes a few milliseconds.

    Raises:
        OSError: It could not be done; the open segment is still there.
    """
    copy = SealedCopy(folder, name, system=system)
    try:
        for chunk in read_chunks(str(Path(folder) / str(name)), system=system):
            for start in range(0, len(chunk), _WRITE_BYTES):
                copy.add(chunk[start : start + _WRITE_BYTES])
                yield
        copy.finish(last_seq)
    except OSError:
        copy.abandon()
        raise


def read_segment(folder: str, name: SegmentName, *, system: Os = os) -> Iterator[bytes]:
    """Content of a segment, unpacked, part by part.

    Raises:
        OSError: It can't be read.
        EOFError: It is compressed and torn; what could be read came before.
        zlib.error: It is compressed and broken; as above.
    """
    chunks = read_chunks(str(Path(folder) / str(name)), system=system)
    return _unpack(chunks) if name.form == ".gz" else chunks


def _unpack(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Gzip, perhaps of several members one after the other, as tools that work in parallel make it."""
    unpacker = zlib.decompressobj(_GZIP)
    is_begun = False
    for packed in chunks:
        rest = packed
        while rest:
            is_begun = True
            yield unpacker.decompress(rest)
            rest = unpacker.unused_data
            if unpacker.eof:
                unpacker, is_begun = zlib.decompressobj(_GZIP), False
    if is_begun:
        raise EOFError("the file is torn: its compressed data has no end")
