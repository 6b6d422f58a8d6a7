"""How `mqshutdown` finds the name servers of this user: a file each, locked as long as its process runs.

The lock, which the kernel releases at death, says whether the number still belongs to a name server.
"""

import contextlib
import fcntl
import os
from pathlib import Path

__all__ = ["PidFile", "hold_pid_file", "running_name_servers"]

_PATTERN = "namesrv.*.pid"


class PidFile:
    """Our own file; `release` removes it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    def release(self) -> None:
        """Remove the file; may be called twice."""
        if self._fd is not None:
            self.path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = None


def hold_pid_file(folder: str) -> PidFile:
    """Write and lock a file with the number of this process.

    Raises:
        OSError: The folder can't be written.
    """
    path = Path(folder) / f"namesrv.{os.getpid()}.pid"
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
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
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        words = os.read(fd, 200).decode(errors="replace").split()
        if not words:
            return None  # just being written
        if _is_locked(fd):
            ours = words[-1] == _pid_namespace()  # of another container the number means somebody else here
            return int(words[0]) if words[0].isdecimal() and ours else None
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


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "-"
