"""Files by which `mqshutdown` finds the name servers of this user: one each, locked while its process runs.

The kernel releases the lock when the process ends. So the lock shows whether the number still belongs to a
name server. A file counts only if it is a regular one, named after the number in it, and if that process has
it open. Otherwise any writer to the folder could make `mqshutdown` stop any process of this user.
"""

import contextlib
import fcntl
import os
from pathlib import Path

from namekeeper.files import make_folder, open_plain_file

__all__ = ["PidFile", "hold_pid_file", "running_name_servers"]

_PATTERN = "namesrv.*.pid"


class PidFile:
    """The file of this process; `release` removes it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    def release(self) -> None:
        """Remove the file; may be called twice.

        If its folder has become something else, the file may stay: without its lock it counts no more.
        """
        if self._fd is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
            os.close(self._fd)
            self._fd = None


def hold_pid_file(folder: str) -> PidFile:
    """Write and lock a file with the number of this process.

    Raises:
        OSError: the folder can't be written, or something else is in the place of the file.
    """
    path = Path(folder) / f"namesrv.{os.getpid()}.pid"
    make_folder(str(path.parent))
    fd = open_plain_file(str(path), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n{_pid_namespace()}\n".encode())
    except OSError:
        os.close(fd)
        raise
    return PidFile(path, fd)


def running_name_servers(folder: str) -> list[int]:
    """Process numbers of the name servers that log below `folder`; files of dead ones are removed."""
    found = (_running(path) for path in sorted(Path(folder).glob(_PATTERN)))
    return [pid for pid in found if pid is not None]


def _running(path: Path) -> int | None:
    try:
        fd = open_plain_file(str(path), os.O_RDONLY)
    except OSError:
        return None
    try:
        words = os.read(fd, 200).decode(errors="replace").split()
        if not words:
            return None  # just being written
        if _is_locked(fd):
            # In another container the number is that of another process.
            is_ours = words[-1] == _pid_namespace() and path.name == f"namesrv.{words[0]}.pid"
            return int(words[0]) if is_ours and words[0].isdecimal() and _has_open(words[0], fd) else None
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    finally:
        os.close(fd)


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _has_open(pid: str, fd: int) -> bool:
    """Whether a process has the file `fd` open; true if the system doesn't report it."""
    wanted = os.fstat(fd)
    try:
        theirs = list(Path("/proc", pid, "fd").iterdir())
    except FileNotFoundError:
        return not Path("/proc/self/fd").exists()
    except OSError:
        return False  # a process of another user, which this user could not stop either
    for each in theirs:
        with contextlib.suppress(OSError):
            if os.path.samestat(each.stat(), wanted):
                return True
    return False


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "-"
