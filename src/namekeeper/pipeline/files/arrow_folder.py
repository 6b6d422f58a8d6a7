"""A folder of a file system that pyarrow knows: S3, GCS, HDFS and others."""

import io
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import IO

from pyarrow.fs import FileSelector, FileSystem, FileType

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.file import File, LoadedFiles, Versioned, read_limited
from namekeeper.pipeline.files.object_store import ObjectStore, open_object_store

__all__ = ["ArrowFolder"]

_CHUNK = 1 << 20
_OBJECT_STORES = {"s3", "gcs", "abfs"}
"""Here the end of an upload makes a file whole; elsewhere a rename does."""
_LISTED_IN_ORDER = {"s3"}
"""Stores whose listing can start after any name. Azure's can't, and Google's could not be tried."""
_HADOOP_NAMES = {"s3": "s3a"}
"""Scheme of pyarrow -> Spark's name of it, if that differs."""


class ArrowFolder:
    """A folder of a file system that pyarrow knows: S3, GCS, HDFS and others."""

    def __init__(
        self,
        uri: str,
        filesystem: FileSystem,
        path: str,
        conditional: Callable[[str, FileSystem, str], ObjectStore] | None = None,
    ) -> None:
        """Take a folder that need not be there.

        Args:
            uri: As the user wrote it.
            filesystem: Where it is.
            path: Its path there.
            conditional: Opens it for conditional writes, which pyarrow does not have; None: by its kind.
        """
        self.uri = uri
        self.filesystem = filesystem
        self.path = path.rstrip("/")
        self._open_conditional = conditional or _conditional_writes

    def exists(self) -> bool:
        """Whether it is there; on an object store: whether anything is in it."""
        try:
            return bool(self.filesystem.get_file_info(self.path).type == FileType.Directory)
        except OSError:
            if not self._is_in_a_store:
                raise
            # A role for one prefix may list what is below it, and not look at an object of its name.
            return next(self.files(), None) is not None

    def files(self, path: str = "", *, quick: bool = False) -> Iterator[File]:  # noqa: ARG002 -- a listing has all
        """Every file below `path`."""
        selector = FileSelector(self._absolute(path), allow_not_found=True, recursive=True)
        for info in self.filesystem.get_file_info(selector):
            if info.type == FileType.File:
                modified_ms = info.mtime_ns and info.mtime_ns // 1_000_000
                yield File(info.path[len(self.path) :].lstrip("/"), info.size or 0, modified_ms)

    def files_but(self, known: LoadedFiles, *, may_skip: bool) -> Iterator[File]:
        """Every file but those that are known; a file may come twice."""
        if may_skip and self.filesystem.type_name in _LISTED_IN_ORDER:
            # obstore is not everywhere, and does not find all the credentials that pyarrow finds.
            with suppress(WarehouseError, OSError):
                yield from self._conditional.files_but(known)
                return
        yield from (file for file in self.files() if not known.has(file.path.rpartition("/")[2]))

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
        """Create a file atomically, or return False because there is one of this name."""
        return self._conditional.put_new(path, data)

    def read_versioned(self, path: str) -> Versioned | None:
        """Content and version of a small file; None if it is not there."""
        return self._conditional.read_versioned(path)

    def put_if_unchanged(self, path: str, data: bytes, version: object) -> bool:
        """Replace a file atomically, or return False because it has another version or is gone."""
        return self._conditional.put_if_unchanged(path, data, version)

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file, whole."""
        self.put_stream(path, io.BytesIO(data))

    def put_stream(self, path: str, source: IO[bytes]) -> int:
        """Write the bytes of a stream to a file; a rename, or the end of an upload, makes it whole."""
        target = self._absolute(path)
        parent, _, name = target.rpartition("/")
        is_store = self._is_in_a_store
        if not is_store:
            # In an object store the call would look at the bucket, and write an object for each parent, also
            # outside of the folder, which a user of one prefix may not.
            self.filesystem.create_dir(parent, recursive=True)
        written_to = target if is_store else f"{parent}/.{name}.{uuid.uuid4().hex}.tmp"
        try:
            with self.filesystem.open_output_stream(written_to, compression=None) as stream:
                shutil.copyfileobj(source, stream, _CHUNK)
                size = int(stream.tell())
        except BaseException:
            # pyarrow can't abort an upload: it closes the stream, which makes an object of what was written.
            with suppress(OSError):
                self.filesystem.delete_file(written_to)
            raise
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

    @property
    def _is_in_a_store(self) -> bool:
        return self.filesystem.type_name in _OBJECT_STORES

    @cached_property
    def _conditional(self) -> ObjectStore:
        return self._open_conditional(self.uri, self.filesystem, self.path)

    def _absolute(self, path: str) -> str:
        return f"{self.path}/{path}" if path else self.path


def _conditional_writes(uri: str, filesystem: FileSystem, path: str) -> ObjectStore:
    if filesystem.type_name not in _OBJECT_STORES:
        raise WarehouseError(
            f"{uri} can't be written safely: this file system has no conditional writes that Python can use;"
            " keep the warehouse in an object store (S3, GCS, ABFS) or in a mounted folder"
        )
    return open_object_store(uri, path, getattr(filesystem, "region", None))
