"""One log file that is moved aside and compressed when it is full, as in Java's logback settings."""

import contextlib
import os
import stat
import threading
from pathlib import Path

from namekeeper.files import make_folder

__all__ = ["ROTATE_BYTES", "LogFile"]

ROTATE_BYTES = 100 * 1024 * 1024
_FOLDER = "otherdays"


class LogFile:
    """Appends lines to `<root>/<name>.log`; when it is full, it becomes `<root>/otherdays/<name>.1.log.gz`.

    The numbers of older files grow, up to `keep`. Used by one thread; compression has a thread of its own, so
    that lines can be written meanwhile.
    """

    def __init__(self, root: Path, name: str, *, keep: int, rotate_bytes: int = ROTATE_BYTES) -> None:
        self._path = root / f"{name}.log"
        self._aside = root / _FOLDER
        self._name = name
        self._keep = keep
        self._rotate_bytes = rotate_bytes
        self._compressor: threading.Thread | None = None
        make_folder(str(root))
        self._open()

    def write(self, data: bytes) -> None:
        """Append complete lines; if another program has deleted the file, to a new one.

        Raises:
            OSError: the disk is full or gone.
        """
        # A deleted file has no reader. The stat takes less time than the write.
        if self._is_regular and not os.fstat(self._fd).st_nlink:
            self.reopen()
        # A pipe or a device, as a link to /dev/stdout, has no size and is never moved aside.
        if self._is_regular and self._size and self._size + len(data) > self._rotate_bytes:
            self._rotate()
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self._size += len(data)

    def reopen(self) -> None:
        """Open the file by its name again: another program may have renamed it, as logrotate does.

        Raises:
            OSError: it can't be opened; lines go to the old one.
        """
        old = self._fd
        make_folder(str(self._path.parent))
        self._open()
        os.close(old)

    def close(self) -> None:
        """Close it, and wait for the compression."""
        os.close(self._fd)
        self._wait()

    def _open(self) -> None:
        # Without O_NONBLOCK the opening of a pipe waits for a reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        fd = os.open(self._path, flags, 0o644)
        os.set_blocking(fd, True)
        found = os.fstat(fd)
        self._fd, self._size = fd, found.st_size
        self._is_regular = stat.S_ISREG(found.st_mode)

    def _rotate(self) -> None:
        self._wait()
        with contextlib.suppress(OSError):  # a file that grows is better than a log that stops
            self._aside.mkdir(exist_ok=True)
            for number in range(self._keep, 0, -1):
                self._move_up(number)
            first = self._aside / f"{self._name}.1.log"
            Path(os.path.realpath(self._path)).replace(first)  # a link stays one
            self.reopen()
            self._compressor = threading.Thread(
                target=_compress, args=(first,), name="log-compressor", daemon=True
            )
            self._compressor.start()
            return
        self._size = 0

    def _move_up(self, number: int) -> None:
        for ending in (".log.gz", ".log"):  # uncompressed if the process ended too early
            file = self._aside / f"{self._name}.{number}{ending}"
            with contextlib.suppress(FileNotFoundError):
                if number == self._keep:
                    file.unlink()
                else:
                    file.replace(self._aside / f"{self._name}.{number + 1}{ending}")

    def _wait(self) -> None:
        if self._compressor is not None:
            self._compressor.join()
            self._compressor = None


def _compress(file: Path) -> None:
    import gzip
    import shutil

    packed = file.with_name(file.name + ".gz")
    unfinished = file.with_name(file.name + ".gz.tmp")
    try:
        with file.open("rb") as source, gzip.open(unfinished, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        unfinished.replace(packed)
        file.unlink()
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()  # the text stays as it is
