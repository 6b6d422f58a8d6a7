"""A folder of a file system that pyarrow knows: S3, GCS, HDFS and others."""

import io
import shutil
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO

from pyarrow.fs import FileSelector, FileSystem, FileType

from namekeeper.pipeline.files.file import File, read_limited

__all__ = ["ArrowFolder"]

_CHUNK = 1 << 20
_OBJECT_STORES = {"s3", "gcs", "abfs"}
"""Here the end of an upload makes a file whole; elsewhere a rename does."""
_WITHOUT_FOLDERS = frozenset(_OBJECT_STORES)
_HADOOP_NAMES = {"s3": "s3a"}
"""Scheme of pyarrow -> Spark's name of it, if that differs."""


class ArrowFolder:
    """A folder of a file system that pyarrow knows: S3, GCS, HDFS and others."""

    def __init__(self, uri: str, filesystem: FileSystem, path: str) -> None:
        self.uri = uri
        self.filesystem = filesystem
        self.path = path.rstrip("/")

    def exists(self) -> bool:
        """Whether it is there; on an object store: whether anything is in it."""
        return bool(self.filesystem.get_file_info(self.path).type.name == "Directory")

    def files(self, path: str = "", *, quick: bool = False) -> Iterator[File]:  # noqa: ARG002 -- a listing has all
        """Every file below `path`."""
        selector = FileSelector(self._absolute(path), allow_not_found=True, recursive=True)
        for info in self.filesystem.get_file_info(selector):
            if info.type == FileType.File:
                modified_ms = info.mtime_ns and info.mtime_ns // 1_000_000
                yield File(info.path[len(self.path) :].lstrip("/"), info.size or 0, modified_ms)

    def size(self, path: str) -> int:
        """Bytes of a file; 0 if it is not there."""
        return int(self.filesystem.get_file_info(self._absolute(path)).size or 0)

    def read(self, path: str) -> bytes:
        """Content of a file."""
        with self.open(path) as stream:
            return read_limited(stream, path)

    def open(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A file to read from its beginning, unchanged: pyarrow does not unpack it whatever its name is."""
        stream: AbstractContextManager[IO[bytes]] = self.filesystem.open_input_stream(
            self._absolute(path), compression=None
        )
        return stream

    def put_new(self, path: str, data: bytes) -> bool:
        """Create a file, or return False because there is one of this name.

        Two callers at the same time may both succeed; the lease of the warehouse prevents that.
        """
        if self.filesystem.get_file_info(self._absolute(path)).type != FileType.NotFound:
            return False
        self.put(path, data)
        return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file, whole."""
        self.put_stream(path, io.BytesIO(data))

    def put_stream(self, path: str, source: IO[bytes]) -> int:
        """The same with what a stream gives; a rename, or the end of an upload, makes it whole."""
        target = self._absolute(path)
        parent, _, name = target.rpartition("/")
        is_store = self.filesystem.type_name in _OBJECT_STORES
        if self.filesystem.type_name not in _WITHOUT_FOLDERS:
            # In an object store the call would look at the bucket, and write an object for each parent, also
            # outside of the folder, which a user of one prefix may not.
            self.filesystem.create_dir(parent, recursive=True)
        written_to = target if is_store else f"{parent}/.{name}.{uuid.uuid4().hex}.tmp"
        with self.filesystem.open_output_stream(written_to, compression=None) as stream:
            shutil.copyfileobj(source, stream, _CHUNK)
            size = int(stream.tell())
        if not is_store:
            self.filesystem.move(written_to, target)
        return size

    def delete(self, path: str) -> None:
        """Delete a file or a folder with all that is in it."""
        target = self._absolute(path)
        kind = self.filesystem.get_file_info(target).type
        if kind == FileType.Directory:
            self.filesystem.delete_dir(target)
        elif kind != FileType.NotFound:
            self.filesystem.delete_file(target)

    def spark_path(self, path: str = "") -> str:
        """The path as Spark takes it: S3 is s3a there."""
        scheme, colon, rest = self.uri.partition(":")
        uri = f"{_HADOOP_NAMES.get(scheme, scheme)}{colon}{rest}".split("?", 1)[0].rstrip("/")
        return f"{uri}/{path}" if path else uri

    def _absolute(self, path: str) -> str:
        return f"{self.path}/{path}" if path else self.path
