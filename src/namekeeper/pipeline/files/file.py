"""A file in a folder, as a listing has it."""

import errno
from typing import IO, NamedTuple, Protocol

__all__ = ["READ_BYTES", "File", "LoadedFiles", "Versioned", "read_limited"]

READ_BYTES = 256 << 20
"""Largest manifest or ledger: of a warehouse with a million data files or boots it has less."""


class File(NamedTuple):
    """A file in a folder."""

    path: str
    """Below the folder, with `/`."""
    size: int | None = None
    """Bytes; None: not asked for."""
    modified_ms: int | None = None
    """When it was last changed, ms since 1970; None: not asked for, or not known."""


class Versioned(NamedTuple):
    """The content of a file, and what tells it from every other content that the file may have."""

    data: bytes
    version: object
    """For `put_if_unchanged` of the same folder."""


class LoadedFiles(Protocol):
    """Files that a listing leaves out, because a warehouse has their content."""

    found: int
    """Number of files that were left out so far."""
    skips: int
    """How often a part of a folder was skipped."""

    def has(self, name: str) -> bool:
        """Whether a file is left out.

        Args:
            name: Its name, without its folder.
        """

    def end_after(self, path: str) -> str | None:
        """Where a listing in the order of paths may go on.

        Args:
            path: A file, below the listed folder.

        Returns:
            A later path, before which nothing need be listed; None: go on after `path`.
        """


def read_limited(stream: IO[bytes], path: str, size: int = 0) -> bytes:
    """The rest of a stream.

    Args:
        stream: Where it is read from.
        path: Of the file, for the message.
        size: Bytes of the file, where that is known: a file that is too large is refused unread.

    Raises:
        OSError: It has more than `READ_BYTES` bytes.
    """
    _refuse_more(size, path)
    parts: list[bytes] = []
    read = 0
    while part := stream.read(1 << 20):
        read += len(part)
        _refuse_more(read, path)
        parts.append(part)
    return b"".join(parts)


def _refuse_more(size: int, path: str) -> None:
    if size > READ_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {READ_BYTES} bytes: move it away", path)
