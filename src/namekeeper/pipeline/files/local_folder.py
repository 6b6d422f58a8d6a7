"""A folder of this machine; written files are on disk before the call returns."""

import errno
import fcntl
import io
import os
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO

from namekeeper.pipeline.files.file import File, LoadedFiles, Versioned, read_limited

__all__ = ["LocalFolder"]

_CHUNK = 1 << 20
DEPTH_LIMIT = 12
"""Folders in each other that are listed. A warehouse has 4. A path of 12 long names is shorter than the 4,096
bytes that the system takes."""


class LocalFolder:
    """A folder of this machine."""

    def __init__(self, path: str) -> None:
        self.path = str(Path(path).expanduser().absolute())
        self.uri = f"file://{self.path}"

    def exists(self) -> bool:
        """Whether it is there and is a folder."""
        return Path(self.path).is_dir()

    def files(self, path: str = "", *, quick: bool = False) -> Iterator[File]:
        """Every file below `path`; if quick, without size and time."""
        yield from _below(self._absolute(path), f"{path}/" if path else "", quick=quick)

    def files_but(self, known: LoadedFiles, *, may_skip: bool) -> Iterator[File]:  # noqa: ARG002 -- it has no order
        """Every file but those that are known, without sizes and times."""
        yield from _below(self.path, "", quick=True, known=known)

    def size(self, path: str) -> int:
        """Bytes of a file; 0 if it is not there."""
        try:
            return Path(self._absolute(path)).stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, path: str) -> bytes:
        """Content of a file."""
        with self.open(path) as file:
            return read_limited(file, path, os.fstat(file.fileno()).st_size)

    def open(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A file to read from its beginning."""
        return self._opened(path)

    def open_itself(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A file to read from its beginning; OSError if the path is a link."""
        return self._opened(path, os.O_NOFOLLOW)

    def _opened(self, path: str, flags: int = 0) -> AbstractContextManager[IO[bytes]]:
        absolute = self._absolute(path)
        # Without O_NONBLOCK the opening of a pipe waits for its other end.
        fd = os.open(absolute, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | flags)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EPERM, "it is not a regular file: move it away", absolute)
        return open(fd, "rb")  # noqa: PTH123 - by its descriptor; the caller closes it

    def put_new(self, path: str, data: bytes) -> bool:
        """Create a file whole and on disk, or return False because there is one of this name."""
        temporary, target = self._written(path, io.BytesIO(data)), Path(self._absolute(path))
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}:
                raise
            with _locked(target.parent):  # no hard links here
                if target.exists():
                    return False
                temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return True

    def read_versioned(self, path: str) -> Versioned | None:
        """Content and version of a small file; the content is its version here."""
        try:
            data = self.read(path)
        except FileNotFoundError:
            return None
        return Versioned(data, data)

    def put_if_unchanged(self, path: str, data: bytes, version: object) -> bool:
        """Replace a file atomically, or return False because it has another version or is gone."""
        with _locked(Path(self._absolute(path)).parent):
            found = self.read_versioned(path)
            if found is None or found.version != version:
                return False
            self.put(path, data)
            return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file, whole and on disk."""
        self.put_stream(path, io.BytesIO(data))

    def put_stream(self, path: str, source: IO[bytes]) -> int:
        """Write the bytes of a stream to a file."""
        target = Path(self._absolute(path))
        temporary = self._written(path, source)
        try:
            size = temporary.stat().st_size
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
        return size

    def delete(self, path: str) -> None:
        """Delete a file or a folder with all that is in it."""
        target = Path(self._absolute(path))
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)

    def spark_path(self, path: str = "") -> str:
        """The path as Spark takes it."""
        return f"file://{self._absolute(path)}"

    def _absolute(self, path: str) -> str:
        return f"{self.path}/{path}" if path else self.path

    def _written(self, path: str, source: IO[bytes]) -> Path:
        """Write and sync a temporary file beside the final one."""
        target = Path(self._absolute(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        try:
            with temporary.open("xb") as file:
                shutil.copyfileobj(source, file, _CHUNK)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary


def _below(absolute: str, prefix: str, *, quick: bool, known: LoadedFiles | None = None) -> Iterator[File]:
    """Regular files below a folder, and links to them.

    Others may write to it. A link from a folder to one above it, or folders without end in each other, must
    not make the listing endless. A pipe with the name of a segment must not have each run refused.
    """
    seen: set[tuple[int, int]] = set()
    folders = [(absolute, prefix, 0)]
    while folders:
        where, above, depth = folders.pop()
        try:
            found = os.stat(where)  # noqa: PTH116 - as scandir
            if (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
            entries = os.scandir(where)
        except FileNotFoundError:
            continue
        with entries:
            for entry in entries if known is None else _unknown(entries, known):
                try:
                    is_folder, is_file = entry.is_dir(), entry.is_file()
                except OSError:  # a link to itself, or to what this user may not see
                    continue
                if is_folder and depth < DEPTH_LIMIT:
                    folders.append((entry.path, f"{above}{entry.name}/", depth + 1))
                elif is_file:
                    yield from _listed(entry, above, quick=quick)


def _unknown(entries: Iterable[os.DirEntry[str]], known: LoadedFiles) -> Iterator[os.DirEntry[str]]:
    return (entry for entry in entries if not known.has(entry.name))


def _listed(entry: os.DirEntry[str], above: str, *, quick: bool) -> Iterator[File]:
    if quick:
        yield File(above + entry.name)
        return
    with suppress(FileNotFoundError):  # deleted meanwhile
        found = entry.stat()
        yield File(above + entry.name, found.st_size, int(found.st_mtime * 1_000))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other callers of this function out of a folder; one that is not there needs no lock."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
