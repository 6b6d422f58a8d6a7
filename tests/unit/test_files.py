"""Whenever the machine dies, a replaced file holds the old or the new content, whole."""

import itertools
import os
import stat
from pathlib import Path

import pytest

from namekeeper.files import Os, atomic_replace, read_if_exists

OLD, NEW = b"old " * 5, b"new content " * 5
PATH, FOLDER = "/srv/data/kv.json", "/srv/data"


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

    def _step(self) -> None:
        if self.calls == self.crash_at:
            raise Crash
        self.calls += 1

    def _name(self, path: str, number: int | None) -> None:
        if number is None:
            del self.names[path]
        else:
            self.names[path] = number
        self.unsynced.append((str(Path(path).parent), path, number))

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        self._step()
        if flags & os.O_DIRECTORY:
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
        versions = self.contents[self._file(fd)]
        versions.append(versions[-1] + data[: self.chunk])
        return min(len(data), self.chunk)

    def fchmod(self, fd: int, mode: int) -> None:
        self._step()
        self.modes[self._file(fd)] = mode

    def fstat(self, fd: int) -> os.stat_result:
        return os.stat_result((stat.S_IFREG | self.modes[self._file(fd)], *([0] * 9)))

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


def settled(content: bytes | None = OLD) -> ModelOs:
    """A file system in which everything up to now is synced."""
    system = ModelOs()
    system.folders |= {"/srv": True, FOLDER: True}
    if content is not None:
        system.contents, system.synced_to, system.modes = [[content]], [0], {0: 0o640}
        system.names, system.durable = {PATH: 0}, {PATH: 0}
    return system


def crashing(system: ModelOs) -> bool:
    """Replace on a system that dies at its moment; say whether it did."""
    try:
        atomic_replace(PATH, NEW, system=system)
    except Crash:
        return True
    return False


def contents_over_all_crashes(make) -> set[bytes | None]:
    found: set[bytes | None] = set()
    for moment in itertools.count():
        system = make()
        system.crash_at = moment
        died = crashing(system)
        found |= system.after_crash(PATH)
        if not died:
            return found
    raise AssertionError


def test_the_model_is_an_os():
    system: Os = ModelOs()
    assert system is not None


def test_at_every_crash_the_old_or_the_new_content_is_found():
    assert contents_over_all_crashes(settled) == {OLD, NEW}


def test_at_every_crash_a_first_content_is_found_whole_or_not_at_all():
    assert contents_over_all_crashes(lambda: settled(None)) == {None, NEW}


def test_at_every_crash_a_file_in_a_new_folder_is_found_whole_or_not_at_all():
    assert contents_over_all_crashes(ModelOs) == {None, NEW}


@pytest.mark.parametrize("make", [settled, lambda: settled(None), ModelOs])
def test_what_was_replaced_is_there_after_a_crash(make):
    system = make()
    assert not crashing(system)
    assert system.after_crash(PATH) == {NEW}


def test_at_every_crash_the_backup_is_whole():
    for moment in itertools.count():
        system = settled()
        system.crash_at = moment
        died = crashing(system)
        assert system.after_crash(f"{PATH}.bak") <= {None, OLD}
        if not died:
            assert system.after_crash(f"{PATH}.bak") == {OLD}
            return


class WithoutFsync(ModelOs):
    def fsync(self, fd: int) -> None:
        self._step()


class WithoutFsyncOfFiles(ModelOs):
    def fsync(self, fd: int) -> None:
        if self.open_files[fd][1] is None:
            super().fsync(fd)


class WithoutFsyncOfFolders(ModelOs):
    def fsync(self, fd: int) -> None:
        if self.open_files[fd][1] is not None:
            super().fsync(fd)


@pytest.mark.parametrize("mutant", [WithoutFsync, WithoutFsyncOfFiles])
def test_the_model_finds_garbage_when_the_file_is_not_synced(mutant):
    def make() -> ModelOs:
        system = settled()
        system.__class__ = mutant
        return system

    assert contents_over_all_crashes(make) - {OLD, NEW}


def test_the_model_finds_a_lost_replacement_when_the_folder_is_not_synced():
    system = settled()
    system.__class__ = WithoutFsyncOfFolders
    assert not crashing(system)
    assert OLD in system.after_crash(PATH)


def test_a_file_is_replaced_with_its_backup_and_permissions(tmp_path):
    path = tmp_path / "a" / "b" / "kv.json"
    atomic_replace(str(path), OLD)
    assert [file.name for file in path.parent.iterdir()] == ["kv.json"]
    path.chmod(0o600)
    atomic_replace(str(path), NEW)
    assert path.read_bytes() == NEW
    assert (tmp_path / "a" / "b" / "kv.json.bak").read_bytes() == OLD
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert len(list(path.parent.iterdir())) == 2


def test_no_backup_is_kept_where_none_is_wanted(tmp_path):
    path = tmp_path / "kv.json"
    path.write_bytes(OLD)
    atomic_replace(str(path), NEW, backup=False)
    assert [file.name for file in tmp_path.iterdir()] == ["kv.json"]


def test_a_symbolic_link_stays_one(tmp_path):
    path, link = tmp_path / "real.json", tmp_path / "link.json"
    path.write_bytes(OLD)
    link.symlink_to(path)
    atomic_replace(str(link), NEW)
    assert link.is_symlink()
    assert path.read_bytes() == NEW


def test_what_a_crash_left_behind_is_no_obstacle(tmp_path):
    path = tmp_path / "kv.json"
    (tmp_path / f"kv.json.{os.getpid()}.tmp").write_bytes(b"torn")
    atomic_replace(str(path), NEW)
    assert [file.name for file in tmp_path.iterdir()] == ["kv.json"]


class Full(ModelOs):
    def write(self, fd: int, data: bytes, /) -> int:
        raise OSError(28, "No space left on device")


def test_on_a_full_disk_the_old_content_stays_and_nothing_is_left_behind():
    system = settled()
    system.__class__ = Full
    with pytest.raises(OSError, match="No space left"):
        atomic_replace(PATH, NEW, system=system)
    assert set(system.names) == {PATH}
    assert system.after_crash(PATH) == {OLD}
    assert system.open_files == {}


def test_a_file_that_is_not_there_reads_as_none(tmp_path):
    assert read_if_exists(str(tmp_path / "no")) is None
    (tmp_path / "yes").write_bytes(b"1")
    assert read_if_exists(str(tmp_path / "yes")) == b"1"
