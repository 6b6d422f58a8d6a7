"""Whenever the machine dies, a replaced file holds the old or the new content, whole."""

import itertools
import os
import stat

import pytest

from namekeeper.files import (
    Os,
    atomic_replace,
    make_folder,
    open_plain_file,
    read_if_exists,
    sweep_temporaries,
)
from tests.support.system.model_os import Crash, ModelOs

OLD, NEW = b"old " * 5, b"new content " * 5
PATH, FOLDER = "/srv/data/kv.json", "/srv/data"


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


def test_a_link_to_nothing_is_named_and_no_folder_is_made_of_it(tmp_path):
    link = tmp_path / "journal"
    link.symlink_to(tmp_path / "not-mounted")
    for folder in (link, link / "9876", link / "more" / "9876"):
        with pytest.raises(
            FileNotFoundError, match=rf"{link} is a link to a place that is not there \(is its"
        ):
            make_folder(str(folder))
    assert not (tmp_path / "not-mounted").exists()


def test_a_plain_file_is_opened_and_created(tmp_path):
    path = tmp_path / "lock"
    os.close(open_plain_file(str(path), os.O_RDWR | os.O_CREAT))
    os.close(open_plain_file(str(path), os.O_RDWR))
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "put",
    [
        lambda path, other: path.symlink_to(other),
        lambda path, other: path.hardlink_to(other),
        lambda path, other: os.mkfifo(path),
        lambda path, other: path.mkdir(),
    ],
    ids=["symbolic link", "hard link", "pipe", "folder"],
)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT])
def test_what_is_no_plain_file_is_refused_at_once_and_left_as_it_was(tmp_path, put, flags):
    other = tmp_path / "other"
    other.write_text("content")
    put(tmp_path / "lock", other)
    with pytest.raises(OSError, match=r"symbolic links|move it away|Is a directory"):
        open_plain_file(str(tmp_path / "lock"), flags)
    assert other.read_text() == "content"


def test_leftovers_of_processes_that_are_gone_are_swept_and_nothing_else(tmp_path):
    path = tmp_path / "kv.json"
    gone, alive = 4_194_304, os.getppid()
    leftovers = [f"kv.json.{gone}.tmp", f"kv.json.bak.{gone}.tmp", f"kv.json.{os.getpid()}.tmp"]
    others = [f"kv.json.{alive}.tmp", "kv.json.x.tmp", f"other.json.{gone}.tmp", "kv.json.bak", "kv.json"]
    for name in leftovers + others:
        (tmp_path / name).touch()
    (tmp_path / "kv.json.4194305.tmp").symlink_to(path)
    (tmp_path / "kv.json.4194306.tmp").mkdir()

    assert sorted(sweep_temporaries(str(path))) == sorted(leftovers)

    left = {each.name for each in tmp_path.iterdir()}
    assert left == {*others, "kv.json.4194305.tmp", "kv.json.4194306.tmp"}
    assert sweep_temporaries(str(tmp_path / "no" / "kv.json")) == []
