"""Writes files so that a crash of the machine leaves either the old or the new content, never a mixture.

Every reader here opens regular files only and stops at a limit: a pipe, a device or a file that grows can
neither block a process nor fill its memory. Also: files that are locked to show who owns something, and
leftovers of killed processes.
"""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from namekeeper.errors import ConfigError
from namekeeper.links import followed

__all__ = [
    "FILE_BYTES",
    "SMALL_FILE_BYTES",
    "TEMPORARY",
    "FoundFile",
    "Os",
    "atomic_replace",
    "create_file",
    "make_folder",
    "open_plain_file",
    "problem_with",
    "read_chunks",
    "read_if_exists",
    "read_named_text",
    "read_own_file",
    "read_with_backup",
    "refuse_to_replace",
    "replace_own_file",
    "set_aside",
    "sweep_temporaries",
    "sync_folder",
    "write_all",
]

TEMPORARY = re.compile(r".+\.[0-9]+\.tmp")
"""Names of files that `atomic_replace` was writing when its process died."""

T = TypeVar("T")

_NEW_FILE_MODE = 0o644
_NEW_FOLDER_MODE = 0o755
_READ_SIZE = 1 << 20
FILE_BYTES = 256 << 20
"""Largest file that a process reads as a whole. The KV configuration (16 MiB, at most six bytes of JSON for
each), a `topics.json` of 100,000 topics, and the times at which 100,000 brokers were heard take less."""
SMALL_FILE_BYTES = 4 << 20
"""Largest file of settings, rules, keys or certificates: a thousand rules with a hundred names take less."""
_BLANK = b"\0 \t\r\n"
"""The content of a file that never reached the disk before a loss of power, or that somebody emptied."""
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
    content is there. A symbolic link stays a link if it may be `followed`. The file keeps its permissions,
    parents are created. A pipe, a device or a folder in its place is never replaced. An empty file is not
    worth a backup.

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
    target = followed(path)
    old = _content(target, system, FILE_BYTES)
    mode = _NEW_FILE_MODE if old is None else stat.S_IMODE(system.stat(target).st_mode)
    if backup and old is not None and old.strip(_BLANK):
        _write_and_rename(f"{target}.bak", old, mode, system)
    _replace(target, data, mode, system, is_synced=is_synced)


def replace_own_file(path: str, data: bytes, *, is_synced: bool = True, system: Os = os) -> None:
    """Do the same for a file that only we write, so that nobody has a reason to make a link of it.

    A symbolic link is replaced by the file and never followed: else somebody who may write to the folder
    could make us overwrite another file. Arguments and errors are those of `atomic_replace`.
    """
    _replace(path, data, _NEW_FILE_MODE, system, is_synced=is_synced)


def read_own_file(path: str, *, limit: int = SMALL_FILE_BYTES, system: Os = os) -> bytes | None:
    """Content of a file that only we write, None if there is none.

    Raises:
        OSError: It can't be read, is a link, a pipe or the like, or has more than `limit` bytes.
    """
    return _content(path, system, limit, os.O_NOFOLLOW)


def read_named_text(path: str, *, limit: int = SMALL_FILE_BYTES) -> str:
    """Return the text of a file that a user named.

    Args:
        path: the file.
        limit: most bytes.

    Raises:
        ConfigError: it is not there, is not UTF-8, or can't be read.
    """
    try:
        data = read_if_exists(path, limit=limit)
    except OSError as error:
        raise ConfigError(f"{path}: {problem_with(path, error)}") from None
    if data is None:
        raise ConfigError(f"{path} does not exist")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8") from None


def read_if_exists(path: str, *, limit: int = FILE_BYTES, system: Os = os) -> bytes | None:
    """Content of a file, None if there is none.

    Raises:
        OSError: It can't be read, is not a regular file, or has more than `limit` bytes.
    """
    return _content(path, system, limit)


class FoundFile(NamedTuple, Generic[T]):
    """The content of a file that has a backup beside it."""

    value: T | None
    """None: there is neither the file nor a backup, or the file is empty and has no backup."""
    problem: str
    """Why the file was not used; empty if it was, or if neither is there."""
    is_backup: bool
    """Whether the value is that of the backup."""


def read_with_backup(
    path: str, parse: Callable[[bytes], T], *, limit: int = FILE_BYTES, system: Os = os
) -> FoundFile[T]:
    """Read a file that `atomic_replace` writes; if it is missing, empty or broken, read its `.bak`.

    RocketMQ's brokers read their files in this way. A crash between the steps in which they replace a file
    leaves none, and a loss of power may leave an empty or a torn one.

    Args:
        path: The file; its backup has `.bak` added to the name.
        parse: Makes a value of the content; raises ValueError or ConfigError if it can't.
        limit: Most bytes of each.
        system: Where they are read.

    Raises:
        ConfigError: The file is broken and the backup can't help, or the backup is broken, too; one line.
        OSError: One of them can't be read.
    """
    value, problem = _parsed(read_if_exists(path, limit=limit, system=system), parse)
    if value is not None:
        return FoundFile(value, "", is_backup=False)
    data = read_if_exists(f"{path}.bak", limit=limit, system=system)
    kept, kept_problem = _parsed(data, parse)
    if kept is not None:
        return FoundFile(kept, problem, is_backup=True)
    if problem in {_MISSING, _EMPTY} and kept_problem in {_MISSING, _EMPTY}:
        return FoundFile(None, problem if problem == _EMPTY else "", is_backup=False)
    beside = "there is no .bak beside it" if data is None else f"{path}.bak: {kept_problem}"
    raise ConfigError(f"{path}: {problem}; {beside}")


def set_aside(path: str) -> None:
    """Rename a broken file to `.corrupt`, so that the next change does not make it the backup.

    Raises:
        OSError: It could not be done.
    """
    with contextlib.suppress(FileNotFoundError):
        Path(path).replace(f"{path}.corrupt")


def refuse_to_replace(path: str, system: Os = os) -> None:
    """Raise if something else than a regular file, or a link to one, has the name of a file that is written.

    Raises:
        OSError: A pipe, a device or a folder is there, or nobody can know.
    """
    try:
        found = system.stat(path)
    except FileNotFoundError:
        return
    _refuse_what_is_no_file(found, path)


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
    kind = "has another name, too" if stat.S_ISREG(found.st_mode) else _not_regular(found)
    raise OSError(errno.EPERM, f"{kind}: move it away", path)


def problem_with(path: str, error: OSError) -> str:
    """Describe the obstacle to a file or folder; for permissions, its owner and the command to run.

    Args:
        path: The file or folder that is wanted. It may be missing.
        error: The error that the system reported.
    """
    reason = error.strerror or str(error)
    if error.errno == errno.EROFS:
        return f"{reason}: mount a volume that can be written, or give another path"
    if error.errno not in (errno.EACCES, errno.EPERM) or reason != os.strerror(error.errno):
        return reason
    user = os.geteuid()
    where, found = _nearest(path)
    if found.st_uid != user:
        return (
            f"{reason} for uid {user}: {where} belongs to uid {found.st_uid}; run `chown -R {user} {where}`"
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU & (~0 if stat.S_ISDIR(found.st_mode) else ~stat.S_IXUSR):
        return f"{reason} for uid {user}: {where} has mode {mode:o}; run `chmod u+rwX {where}`"
    return f"{reason} for uid {user}, who owns {where}: SELinux or AppArmor may forbid it (mount it with :z)"


def _nearest(path: str) -> tuple[str, os.stat_result]:
    """The path itself, or the nearest folder above it that this user can look at."""
    for each in (Path(path), *Path(path).absolute().parents):
        with contextlib.suppress(OSError):
            return str(each), each.stat()
    raise AssertionError("the root of all paths is always there")


def sweep_temporaries(path: str) -> list[str]:
    """Remove what killed processes left of `atomic_replace`; return the names.

    Call it before the first `atomic_replace`. Files of processes that run are left alone.

    Raises:
        OSError: The folder can't be read, or a file not removed.
    """
    target = Path(followed(path))
    pattern = re.compile(re.escape(target.name) + _TEMPORARY, re.ASCII)
    swept = []
    for entry in list(os.scandir(target.parent)) if target.parent.exists() else ():
        match = pattern.fullmatch(entry.name)
        if match and entry.is_file(follow_symlinks=False) and not _is_another_process(int(match[2])):
            Path(entry.path).unlink(missing_ok=True)
            swept.append(entry.name)
    return swept


def read_chunks(path: str, *, limit: int, system: Os = os, flags: int = 0) -> Iterator[bytes]:
    """Content of a regular file, part by part; at most a mebibyte of it is in memory.

    Args:
        path: The file.
        limit: Largest number of bytes, also of a file that grows meanwhile.
        system: Where it is read.
        flags: For `open`, in addition.

    Raises:
        OSError: It can't be read, is not a regular file, or has more than `limit` bytes.
    """
    # Without O_NONBLOCK the opening of a pipe waits for its other end.
    fd = system.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | flags)
    try:
        found = system.fstat(fd)
        _refuse_what_is_no_file(found, path)
        _refuse_more(found.st_size, limit, path)
        read = 0
        while part := system.read(fd, _READ_SIZE):
            read += len(part)
            _refuse_more(read, limit, path)
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
    wanted = [folder]
    tried = set(wanted)
    while wanted:
        newest = wanted[-1]
        parent = str(Path(newest).parent)
        try:
            system.mkdir(newest, _NEW_FOLDER_MODE)
        except FileExistsError:
            _refuse_dangling_link(newest, system)
        except FileNotFoundError:
            if parent in tried:  # it is there, but nobody can make folders in it, as in /proc
                raise
            tried.add(parent)
            wanted.append(parent)
            continue
        else:
            sync_folder(parent, system)
        wanted.pop()


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
    refuse_to_replace(path, system)
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


def _content(path: str, system: Os, limit: int, flags: int = 0) -> bytes | None:
    """Content of a file, None if there is none."""
    try:
        return b"".join(read_chunks(path, limit=limit, system=system, flags=flags))
    except FileNotFoundError:
        return None


_MISSING, _EMPTY = "there is no such file", "it is empty"


def _parsed(data: bytes | None, parse: Callable[[bytes], T]) -> tuple[T | None, str]:
    """The value of a file's content, or None and why there is none."""
    if data is None:
        return None, _MISSING
    if not data.strip():
        return None, _EMPTY
    if not data.strip(_BLANK):
        return None, f"it holds {len(data)} NUL bytes, as a loss of power leaves it"
    try:
        return parse(data), ""
    except (ValueError, ConfigError) as error:
        return None, str(error)


def _refuse_what_is_no_file(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EPERM, f"it {_not_regular(found)}: move it away", path)


def _refuse_more(size: int, limit: int, path: str) -> None:
    if size > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit} bytes: move it away", path)


def _not_regular(found: os.stat_result) -> str:
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: os.strerror(errno.EISDIR)}
    return f"is not a regular file ({kinds.get(stat.S_IFMT(found.st_mode), 'a device')})"


def _refuse_dangling_link(folder: str, system: Os) -> None:
    """Raise FileNotFoundError for a link to nothing, where `mkdir` would only say that the name exists."""
    try:
        system.stat(folder)
    except FileNotFoundError:
        why = f"{folder} is a link to a place that is not there (is its disk mounted?)"
        raise FileNotFoundError(errno.ENOENT, why, folder) from None
