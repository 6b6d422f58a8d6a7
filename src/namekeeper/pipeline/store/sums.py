"""Checksums of data files."""

from zlib import crc32

from namekeeper.pipeline.files.folder import Folder

__all__ = ["sum_of"]

_CHUNK = 1 << 20


def sum_of(folder: Folder, path: str) -> int:
    """CRC-32 of a file, which is read whole.

    Args:
        folder: Where it is.
        path: Its path below the folder.

    Raises:
        FileNotFoundError: It is not there.
    """
    value = 0
    with folder.open(path) as file:
        while chunk := file.read(_CHUNK):
            value = crc32(chunk, value)
    return value
