"""A file system that loses, each by itself, data and names that were not synced when the machine dies."""

import itertools
import os
import random
import stat
from collections.abc import Callable
from pathlib import Path

__all__ = ["Crash", "ModelOs"]


class Crash(BaseException):
    """The machine dies; not an OSError, so nobody cleans up."""


class ModelOs:
    """A file system that may lose, each by itself, all data and all names that were not synced.

    A file is a list of versions of its content, one for each write, and the number of the last one synced.
    A folder is a list of operations on names, and how many of them are synced.
    """

    def __init__(self, crash_at: int | None = None, chunk: int = 7) -> None:
        self.calls = 0
        self.crash_at = crash_at
        self.chunk = chunk
        self.contents: list[list[bytes]] = []
        self.synced_to: list[int] = []
        self.names: dict[str, int] = {}
        self.folders = {"/": True}  # path -> whether its own name is synced
        self.unsynced: list[tuple[str, str, int | None]] = []  # folder, name, file number; None: removed
        self.durable: dict[str, int] = {}
        self.open_files: dict[int, tuple[str, int | None, int]] = {}
        self.modes: dict[int, int] = {}
        self.room: int | None = None
        """Bytes that may still be written before the disk is full; None: no end."""
        self.fails: Callable[[], bool] = lambda: False
        """Asked at each call whether it fails with EIO."""

    def _step(self) -> None:
        if self.calls == self.crash_at:
            raise Crash
        self.calls += 1
        if self.fails():
            raise OSError(5, "Input/output error")

    def _name(self, path: str, number: int | None) -> None:
        if number is None:
            del self.names[path]
        else:
            self.names[path] = number
        self.unsynced.append((str(Path(path).parent), path, number))

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        self._step()
        if flags & os.O_DIRECTORY:
            if path not in self.folders:
                raise FileNotFoundError(path)
            number = None
        elif flags & os.O_CREAT:
            if path in self.names:
                raise FileExistsError(path)
            if str(Path(path).parent) not in self.folders:
                raise FileNotFoundError(path)
            number = len(self.contents)
            self.contents.append([b""])
            self.synced_to.append(-1)
            self.modes[number] = mode
            self._name(path, number)
        elif path not in self.names:
            raise FileNotFoundError(path)
        else:
            number = self.names[path]
        fd = max(self.open_files, default=2) + 1
        self.open_files[fd] = (path, number, 0)
        return fd

    def _file(self, fd: int) -> int:
        number = self.open_files[fd][1]
        assert number is not None
        return number

    def read(self, fd: int, length: int, /) -> bytes:
        self._step()
        path, _, at = self.open_files[fd]
        data = self.contents[self._file(fd)][-1][at : at + min(length, self.chunk)]
        self.open_files[fd] = (path, self._file(fd), at + len(data))
        return data

    def write(self, fd: int, data: bytes, /) -> int:
        self._step()
        part = data[: self.chunk]
        if self.room is not None:
            if not self.room:
                raise OSError(28, "No space left on device")
            part = part[: self.room]
            self.room -= len(part)
        versions = self.contents[self._file(fd)]
        versions.append(versions[-1] + part)
        return len(part)

    def ftruncate(self, fd: int, length: int) -> None:
        self._step()
        versions = self.contents[self._file(fd)]
        versions.append(versions[-1][:length])

    def fchmod(self, fd: int, mode: int) -> None:
        self._step()
        self.modes[self._file(fd)] = mode

    def fstat(self, fd: int) -> os.stat_result:
        return self._stat(self._file(fd))

    def stat(self, path: str) -> os.stat_result:
        if path in self.folders:
            return os.stat_result((stat.S_IFDIR | 0o755, *([0] * 9)))
        if path not in self.names:
            raise FileNotFoundError(path)
        return self._stat(self.names[path])

    def _stat(self, number: int) -> os.stat_result:
        size = len(self.contents[number][-1])
        return os.stat_result((stat.S_IFREG | self.modes[number], number, 0, 1, 0, 0, size, 0, 0, 0))

    def listdir(self, path: str) -> list[str]:
        if path not in self.folders:
            raise FileNotFoundError(path)
        found = {*self.names, *self.folders} - {path}
        return sorted(Path(name).name for name in found if str(Path(name).parent) == path)

    def fsync(self, fd: int) -> None:
        self._step()
        path, number, _ = self.open_files[fd]
        if number is None:
            for folder, name, file in self.unsynced:
                if folder == path:
                    self._settle(self.durable, name, file)
            self.unsynced = [entry for entry in self.unsynced if entry[0] != path]
            self.folders |= {made: True for made in self.folders if str(Path(made).parent) == path}
        else:
            self.synced_to[number] = len(self.contents[number]) - 1

    def close(self, fd: int) -> None:
        del self.open_files[fd]

    def replace(self, src: str, dst: str) -> None:
        self._step()
        if src not in self.names:
            raise FileNotFoundError(src)
        number = self.names[src]
        self._name(dst, number)
        self._name(src, None)

    def unlink(self, path: str) -> None:
        self._step()
        if path not in self.names:
            raise FileNotFoundError(path)
        self._name(path, None)

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        self._step()
        if path in self.folders:
            raise FileExistsError(path)
        if str(Path(path).parent) not in self.folders:
            raise FileNotFoundError(path)
        self.folders[path] = False

    @staticmethod
    def _settle(names: dict[str, int], name: str, file: int | None) -> None:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file

    def after_crash(self, path: str) -> set[bytes | None]:
        """Every content that may be found at `path` once the machine is up again."""
        folders = {str(parent) for parent in Path(path).parents}
        found: set[bytes | None] = (
            {None} if any(not self.folders.get(folder) for folder in folders) else set()
        )
        for kept in itertools.product((True, False), repeat=len(self.unsynced)):
            names = dict(self.durable)
            for (_, name, file), keep in zip(self.unsynced, kept, strict=True):
                if keep:
                    self._settle(names, name, file)
            number = names.get(path)
            if number is None:
                found.add(None)
            else:
                found.update(self.contents[number][max(self.synced_to[number], 0) :])
        return found

    def after(self, chance: random.Random) -> "ModelOs":
        """One of the systems that may be found once the machine is up again; everything on it is synced.

        Of each file any version from the last synced one on, perhaps with NULs where data never came.
        """
        system = type(self)(chunk=self.chunk)
        names = dict(self.durable)
        for _, name, file in self.unsynced:
            if chance.random() < 0.5:
                self._settle(names, name, file)
        for folder in sorted(self.folders):
            if str(Path(folder).parent) in system.folders and (self.folders[folder] or chance.random() < 0.5):
                system.folders[folder] = True
        for name, number in names.items():
            if str(Path(name).parent) in system.folders:
                system.put(name, self._survivor(number, chance), self.modes[number])
        return system

    def put(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Have a file there, whole and synced."""
        self.names[path] = self.durable[path] = number = len(self.contents)
        self.contents.append([content])
        self.synced_to.append(0)
        self.modes[number] = mode

    def _survivor(self, number: int, chance: random.Random) -> bytes:
        synced = max(self.synced_to[number], 0)
        versions = self.contents[number][synced:]
        content = chance.choice(versions)
        sure = len(self.contents[number][synced])
        if len(content) > sure and chance.random() < 0.3:
            hole = chance.randrange(sure, len(content))
            content = content[:hole] + b"\0" * (len(content) - hole)
        return content
