"""One log file that is moved aside and compressed when it is full, as Java's logback settings say."""

import contextlib
import os
import threading
from pathlib import Path

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
        root.mkdir(parents=True, exist_ok=True)
        self._open()

    def write(self, data: bytes) -> None:
        """Append whole lines.

        Raises:
            OSError: The disk is full or gone.
        """
        if self._size and self._size + len(data) > self._rotate_bytes:
            self._rotate()
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self._size += len(data)

    def close(self) -> None:
        """Close it, and wait for the compression."""
        os.close(self._fd)
        self._wait()

    def _open(self) -> None:
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._fd).st_size

    def _rotate(self) -> None:
        self._wait()
        with contextlib.suppress(OSError):  # a file that grows is better than a log that stops
            self._aside.mkdir(exist_ok=True)
            for number in range(self._keep, 0, -1):
                self._move_up(number)
            first = self._aside / f"{self._name}.1.log"
            self._path.replace(first)
            os.close(self._fd)
            self._open()
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
