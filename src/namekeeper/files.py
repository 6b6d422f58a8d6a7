"""Writes files so that a crash of the machine leaves either the old or the new content, never a mixture.

Also: files that are locked to show who owns something, and leftovers of killed processes.
"""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

__all__ = [
    "TEMPORARY",
    "Os",
    "atomic_replace",
    "create_file",
    "make_folder",
    "open_plain_file",
    "read_chunks",
    "read_if_exists",
    "read_own_file",
    "replace_own_file",
    "sweep_temporaries",
    "sync_folder",
    "write_all",
]

TEMPORARY = re.compile(r".+\.[0-9]+\.tmp")
"""Names of files that `atomic_replace` was writing when its process died."""

_NEW_FILE_MODE = 0o644
_NEW_FOLDER_MODE = 0o755
_READ_SIZE = 1 << 20
_LARGEST_OWN_FILE = 256 << 20
"""The times at which 100,000 brokers were heard take less, however long their names."""
_TEMPORARY = r"(\.bak)?\.([0-9]{1,10})\.tmp"
"""The suffix that `atomic_replace` adds to the name of a file, before the process number."""


class Os(Protocol):
    """The calls of the module `os` that are needed; tests give a model that loses what was not synced."""

    def open(self, path: str, flags: int, mode: int = ...) -> int:
        """Open a file; return its descriptor."""

    def read(self, fd: int, length: int, /) -> bytes:
        """Return up to `length` bytes; none at the end of the file."""

    def write(self, fd: int, data: bytes, /) -> int:
        """Write bytes; return how many, which may be fewer than all."""

    def fchmod(self, fd: int, mode: int) -> None:
        """Set the permissions of an open file."""

    def fstat(self, fd: int) -> os.stat_result:
        """Return what the system knows of an open file."""

    def fsync(self, fd: int) -> None:
        """Return when the content of an open file is on disk."""

    def close(self, fd: int) -> None:
        """Give back a descriptor."""

    def replace(self, src: str, dst: str) -> None:
        """Rename a file over another, in one step."""

    def unlink(self, path: str) -> None:
        """Remove a name."""

    def mkdir(self, path: str, mode: int = ...) -> None:
        """Make a folder; its parent must be there."""

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""

    def stat(self, path: str) -> os.stat_result:
        """Return what the system knows of a file."""

    def ftruncate(self, fd: int, length: int) -> None:
        """Cut an open file to `length` bytes."""


def atomic_replace(
    path: str, data: bytes, *, backup: bool = True, is_synced: bool = True, system: Os = os
) -> None:
    """Give the file at `path` new content; blocks on the disk, so never call it on the event loop.

    After the return the new content is on disk. If the machine crashes before, either the old or the new
    content is there. A symbolic link stays a link, the file keeps its permissions, parents are created.

    Args:
        path: The file.
        data: Its new content.
        backup: Whether the old content is kept beside it, with `.bak` added to the name.
        is_synced: Whether the new content is on disk after the return. Else a crash of the machine may leave
            the old or the new content, or a part of the new.
        system: Where it is done.

    Raises:
        OSError: It could not be done; the old content is still there.
    """
    target = os.path.realpath(path)
    old = _read(target, system)
    mode = _NEW_FILE_MODE if old is None else old[1]
    if backup and old is not None:
        _write_and_rename(f"{target}.bak", old[0], mode, system)
    _replace(target, data, mode, system, is_synced=is_synced)


def replace_own_file(path: str, data: bytes, *, is_synced: bool = True, system: Os = os) -> None:
    """Do the same for a file that only we write, so that nobody has a reason to make a link of it.

    A symbolic link is replaced by the file and never followed: else somebody who may write to the folder
    could make us overwrite another file. Arguments and errors are those of `atomic_replace`.
    """
    _replace(path, data, _NEW_FILE_MODE, system, is_synced=is_synced)


def read_own_file(path: str, *, system: Os = os) -> bytes | None:
    """Content of a file that only we write, None if there is none.

    Raises:
        OSError: It can't be read, is a link, a pipe or the like, or is larger than any of ours.
    """
    found = _read(path, system, os.O_NOFOLLOW | os.O_NONBLOCK)
    return None if found is None else found[0]


def read_if_exists(path: str, *, system: Os = os) -> bytes | None:
    """Content of a file, None if there is none."""
    found = _read(path, system)
    return None if found is None else found[0]


def create_file(path: str, *, mode: int = _NEW_FILE_MODE, system: Os = os) -> int:
    """Create a file that isn't there and return its descriptor, for writing.

    Raises:
        OSError: It could not be done, FileExistsError among others.
    """
    return system.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)


def open_plain_file(path: str, flags: int) -> int:
    """Open a file that others may have put there, to lock or to read it; create it if `flags` say so.

    It never follows a symbolic link, never waits for the other end of a pipe, and only opens regular files
    with one name: otherwise somebody who may write to the folder could make us overwrite another file.

    Raises:
        OSError: It can't be opened, or is something else; the message says what.
    """
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, _NEW_FILE_MODE)
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
        return fd
    os.close(fd)
    kind = "has another name, too" if stat.S_ISREG(found.st_mode) else "is not a regular file"
    raise OSError(errno.EPERM, f"{kind}: move it away", path)


def sweep_temporaries(path: str) -> list[str]:
    """Remove what killed processes left of `atomic_replace`; return the names.

    Call it before the first `atomic_replace`. Files of processes that run are left alone.

    Raises:
        OSError: The folder can't be read, or a file not removed.
    """
    target = Path(os.path.realpath(path))
    pattern = re.compile(re.escape(target.name) + _TEMPORARY, re.ASCII)
    swept = []
    for entry in list(os.scandir(target.parent)) if target.parent.exists() else ():
        match = pattern.fullmatch(entry.name)
        if match and entry.is_file(follow_symlinks=False) and not _is_another_process(int(match[2])):
            Path(entry.path).unlink(missing_ok=True)
            swept.append(entry.name)
    return swept


def read_chunks(path: str, *, system: Os = os) -> Iterator[bytes]:
    """Content of a file, part by part.

    Raises:
        OSError: It can't be read.
    """
    fd = system.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while part := system.read(fd, _READ_SIZE):
            yield part
    finally:
        system.close(fd)


def write_all(fd: int, data: bytes, system: Os = os) -> None:
    """Write every byte.

    Raises:
        OSError: It could not be done; a part may have been written.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[system.write(fd, bytes(rest[:_READ_SIZE])) :]


def make_folder(folder: str, system: Os = os) -> None:
    """Create a folder with its parents if it isn't there, and sync the parent of each new folder.

    Raises:
        OSError: It could not be done.
    """
    try:
        system.mkdir(folder, _NEW_FOLDER_MODE)
    except FileExistsError:
        _refuse_dangling_link(folder, system)
        return
    except FileNotFoundError:
        make_folder(str(Path(folder).parent), system)
        make_folder(folder, system)
        return
    sync_folder(str(Path(folder).parent), system)


def sync_folder(folder: str, system: Os = os) -> None:
    """Sync a folder: only then are new, renamed and removed names in it safe from a crash.

    Raises:
        OSError: It could not be done.
    """
    fd = system.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        system.fsync(fd)
    finally:
        system.close(fd)


def _replace(path: str, data: bytes, mode: int, system: Os, *, is_synced: bool) -> None:
    folder = str(Path(path).parent)
    make_folder(folder, system)
    _write_and_rename(path, data, mode, system, is_synced=is_synced)
    if is_synced:
        sync_folder(folder, system)


def _write_and_rename(path: str, data: bytes, mode: int, system: Os, *, is_synced: bool = True) -> None:
    # The process id is in the name because two servers may share a file by mistake; each must write its own.
    temporary = f"{path}.{os.getpid()}.tmp"
    with contextlib.suppress(FileNotFoundError):
        system.unlink(temporary)
    try:
        fd = create_file(temporary, mode=0o600, system=system)
        try:
            system.fchmod(fd, mode)
            write_all(fd, data, system)
            if is_synced:
                system.fsync(fd)
        finally:
            system.close(fd)
        system.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            system.unlink(temporary)
        raise


def _is_another_process(pid: int) -> bool:
    """Whether a process runs that has this number and is not this one."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _read(path: str, system: Os, flags: int = 0) -> tuple[bytes, int] | None:
    """Content and permissions of a file."""
    try:
        fd = system.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    except FileNotFoundError:
        return None
    try:
        if flags:
            _refuse_what_is_not_ours(system.fstat(fd), path)
        parts = []
        while part := system.read(fd, _READ_SIZE):
            parts.append(part)
        return b"".join(parts), stat.S_IMODE(system.fstat(fd).st_mode)
    finally:
        system.close(fd)


def _refuse_what_is_not_ours(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EPERM, "it is not a regular file: move it away", path)
    if found.st_size > _LARGEST_OWN_FILE:
        raise OSError(errno.EFBIG, f"it has {found.st_size} bytes: move it away", path)


def _refuse_dangling_link(folder: str, system: Os) -> None:
    """Raise FileNotFoundError for a link to nothing, where `mkdir` would only say that the name exists."""
    try:
        system.stat(folder)
    except FileNotFoundError:
        why = f"{folder} is a link to a place that is not there (is its disk mounted?)"
        raise FileNotFoundError(errno.ENOENT, why, folder) from None
