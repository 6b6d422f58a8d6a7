"""A folder by its URI, on this machine or on any file system of pyarrow; for manifests, ledgers and listings.

Data are read and written by Spark. Small files and lists of names are read here, so that a run without new
segments needs no Spark; for local folders it does not even import pyarrow.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Protocol
from urllib.parse import unquote, urlsplit

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.files.file import File, LoadedFiles
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.files.object_store import ConditionalWrites

__all__ = ["Folder", "glob_escaped", "open_folder"]

_LOCAL_SCHEMES = {"", "file"}
_ARROW_NAMES = {"s3a": "s3", "s3n": "s3"}
"""Scheme of Hadoop -> the same scheme for pyarrow."""


class Folder(ConditionalWrites, Protocol):
    """The interface of a folder; paths are relative to it, with `/`."""

    uri: str
    path: str
    """Path of the folder within its file system."""

    def exists(self) -> bool:
        """Whether it is there and is a folder."""

    def files(self, path: str = "", *, quick: bool = False) -> Iterator[File]:
        """Every file below `path`, in any order; none if it is not there.

        Args:
            path: Where to look.
            quick: Leave out sizes and times, which would be asked for file by file.
        """

    def files_but(self, known: LoadedFiles, *, may_skip: bool) -> Iterator[File]:
        """Every file, perhaps without its size and time, but those that are known.

        Args:
            known: The files to leave out.
            may_skip: Whether a store that lists names in order may leave out what `end_after` allows.
        """

    def size(self, path: str) -> int:
        """Bytes of a file; 0 if it is not there."""

    def read(self, path: str) -> bytes:
        """Content of a file.

        Raises:
            FileNotFoundError: It is not there.
            OSError: It is no regular file, or has more than `READ_BYTES` bytes.
        """

    def open(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A file to read from its beginning.

        Raises:
            FileNotFoundError: It is not there.
            OSError: It is no regular file.
        """

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file, whole."""

    def put_stream(self, path: str, source: IO[bytes]) -> int:
        """Write the bytes of a stream to a file; returns the number of bytes."""

    def delete(self, path: str) -> None:
        """Delete a file or a folder with all that is in it, if it is there."""

    def spark_path(self, path: str = "") -> str:
        """The path as Spark takes it."""


def open_folder(uri: str) -> Folder:
    """The folder at a URI, or at a plain path of this machine; it need not be there.

    Raises:
        PipelineError: It is empty, the scheme is not known, or its file system can't be reached.
    """
    scheme = urlsplit(uri).scheme if "://" in uri or uri.startswith("file:") else ""
    if scheme in _LOCAL_SCHEMES:
        return LocalFolder(_local_path(uri))
    try:
        from pyarrow.fs import FileSystem

        from namekeeper.pipeline.files.arrow_folder import ArrowFolder

        filesystem, path = FileSystem.from_uri(f"{_ARROW_NAMES.get(scheme, scheme)}{uri[len(scheme) :]}")
    except (ImportError, OSError, ValueError) as error:
        raise PipelineError(
            f"{uri} can't be opened: {error}; give a path, or a URI that pyarrow knows"
        ) from error
    return ArrowFolder(uri, filesystem, path)


def glob_escaped(path: str) -> str:
    """A path with its special characters escaped, because Spark reads paths as patterns."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)


def _local_path(uri: str) -> str:
    path = uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri
    if not path:
        raise PipelineError(f"{uri!r} names no folder: is a variable not set? The current folder is `.`")
    return f"/{unquote(path)}" if uri.startswith("file:") else path
