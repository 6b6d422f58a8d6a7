"""Whenever the machine dies, a replaced file holds the old or the new content, whole."""

import errno
import itertools
import os
import socket
import stat
import tracemalloc
from pathlib import Path

import pytest

from namekeeper.errors import ConfigError
from namekeeper.files import (
    Os,
    atomic_replace,
    make_folder,
    open_plain_file,
    problem_with,
    read_chunks,
    read_if_exists,
    read_own_file,
    read_with_backup,
    refuse_to_replace,
    replace_own_file,
    sweep_temporaries,
)
from namekeeper.links import followed
from tests.support.system.model_os import Crash, ModelOs
from tests.support.system.other_user import OTHER_USER, give_away

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


def test_links_in_a_chain_and_to_a_file_that_will_be_made_are_followed(tmp_path):
    """As Kubernetes mounts a file: its name leads through a link of a folder, which is replaced as a whole."""
    (tmp_path / "2026").mkdir()
    (tmp_path / "..data").symlink_to("2026")
    (tmp_path / "kv.json").symlink_to("..data/kv.json")
    assert followed(str(tmp_path / "kv.json")) == str(tmp_path / "2026" / "kv.json")
    atomic_replace(str(tmp_path / "kv.json"), NEW)
    assert (tmp_path / "2026" / "kv.json").read_bytes() == NEW
    assert (tmp_path / "kv.json").is_symlink()


@pytest.mark.parametrize("whose", ["link.json", "second.json", "real.json"])
def test_what_another_user_linked_or_owns_is_not_replaced(tmp_path, monkeypatch, whose):
    path, link = tmp_path / "real.json", tmp_path / "link.json"
    path.write_bytes(OLD)
    (tmp_path / "second.json").symlink_to(path)
    link.symlink_to("second.json")
    give_away(tmp_path / whose, monkeypatch)
    with pytest.raises(
        OSError, match=rf"{whose} (is a link )?of uid {OTHER_USER}, not of {os.geteuid()} or root"
    ):
        atomic_replace(str(link), NEW)
    assert path.read_bytes() == OLD


def test_a_file_of_another_user_is_replaced_where_no_link_leads_to_it(tmp_path, monkeypatch):
    path = tmp_path / "kv.json"
    path.write_bytes(OLD)
    give_away(path, monkeypatch)
    atomic_replace(str(path), NEW)
    assert path.read_bytes() == NEW


def test_links_that_lead_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "kv.json").symlink_to("kv.json")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        followed(str(tmp_path / "kv.json"))


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


ODD = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/full"),
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to("/dev/null"),
    "folder": lambda path: path.mkdir(),
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
}


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("kind", ODD)
def test_nothing_but_a_file_is_read_or_replaced(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    path = Path("kv.json")
    ODD[kind](path)
    before = path.lstat()
    for attempt in (
        lambda: read_if_exists(str(path)),
        lambda: read_own_file(str(path)),
        lambda: list(read_chunks(str(path), limit=10)),
        lambda: atomic_replace(str(path), NEW),
        lambda: replace_own_file(str(path), NEW),
        lambda: refuse_to_replace(str(path)),
        lambda: read_with_backup(str(path), bytes),
    ):
        with pytest.raises(OSError, match=r"move it away|symbolic links|No such device"):
            attempt()
    after = path.lstat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert [each.name for each in Path().iterdir()] == ["kv.json"]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_backup_that_is_no_file_is_not_replaced(tmp_path, kind):
    path, backup = tmp_path / "kv.json", tmp_path / "kv.json.bak"
    path.write_bytes(OLD)
    ODD[kind](backup)
    with pytest.raises(OSError, match="is not a regular file"):
        atomic_replace(str(path), NEW)
    assert path.read_bytes() == OLD
    assert not backup.is_file()


@pytest.mark.parametrize("size", [9, 10, 11, 1 << 40])
def test_a_reader_stops_at_its_limit(tmp_path, size):
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, size)
    for read in (
        lambda: read_if_exists(str(path), limit=10),
        lambda: read_own_file(str(path), limit=10),
        lambda: b"".join(read_chunks(str(path), limit=10)),
    ):
        if size <= 10:
            assert read() == bytes(size)
            continue
        tracemalloc.start()
        with pytest.raises(OSError, match="it has more than 10 bytes: move it away"):
            read()
        assert tracemalloc.get_traced_memory()[1] < 1 << 19, "its size refuses it unread"
        tracemalloc.stop()


@pytest.mark.parametrize("folder", ["/proc/x/journal", "/proc/x", "/proc/self/a/b/c", "/dev/null/x"])
def test_a_folder_that_nobody_can_make_is_one_error(folder):
    with pytest.raises(OSError, match=r"No such file or directory|Not a directory|Permission denied"):
        make_folder(folder)


def test_a_folder_may_be_as_deep_as_the_system_allows(tmp_path):
    (tmp_path / "stays").touch()
    deep = str(tmp_path) + "/a" * 1_100
    make_folder(deep)
    os.removedirs(deep)  # pytest can't
    assert [each.name for each in tmp_path.iterdir()] == ["stays"]


def whole(data: bytes) -> bytes:
    if data not in {OLD, NEW}:
        raise ValueError("torn")
    return data


@pytest.mark.parametrize(
    ("file", "backup", "value", "problem"),
    [
        (NEW, None, NEW, ""),
        (NEW, OLD, NEW, ""),
        (NEW, b"x", NEW, ""),
        (None, None, None, ""),
        (b"", None, None, "it is empty"),
        (b"", b"", None, "it is empty"),
        (None, b"", None, ""),
        (b"", OLD, OLD, "it is empty"),
        (b" \n", OLD, OLD, "it is empty"),
        (None, OLD, OLD, "there is no such file"),
        (bytes(8), OLD, OLD, "it holds 8 NUL bytes, as a loss of power leaves it"),
        (b"x", OLD, OLD, "torn"),
    ],
)
def test_a_backup_is_read_where_the_file_is_missing_empty_or_broken(tmp_path, file, backup, value, problem):
    for name, data in (("kv.json", file), ("kv.json.bak", backup)):
        if data is not None:
            (tmp_path / name).write_bytes(data)
    found = read_with_backup(str(tmp_path / "kv.json"), whole)
    assert found == (value, problem, value == OLD and file != OLD)


@pytest.mark.parametrize(
    ("file", "backup", "says"),
    [
        (b"x", None, "kv.json: torn; there is no .bak beside it"),
        (bytes(3), None, "kv.json: it holds 3 NUL bytes, as a loss of power leaves it; there is no .bak"),
        (b"x", b"y", "kv.json: torn; .*kv.json.bak: torn"),
        (b"x", b"", "kv.json: torn; .*kv.json.bak: it is empty"),
        (b"", b"y", "kv.json: it is empty; .*kv.json.bak: torn"),
        (None, b"y", "kv.json: there is no such file; .*kv.json.bak: torn"),
    ],
)
def test_where_no_backup_helps_both_are_named(tmp_path, file, backup, says):
    for name, data in (("kv.json", file), ("kv.json.bak", backup)):
        if data is not None:
            (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=says):
        read_with_backup(str(tmp_path / "kv.json"), whole)


@pytest.mark.parametrize("blank", [b"", bytes(5), b"\n"])
def test_an_empty_file_does_not_become_the_backup(tmp_path, blank):
    path = tmp_path / "kv.json"
    (tmp_path / "kv.json.bak").write_bytes(OLD)
    path.write_bytes(blank)
    atomic_replace(str(path), NEW)
    assert (path.read_bytes(), (tmp_path / "kv.json.bak").read_bytes()) == (NEW, OLD)


DENIED = PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_of_a_folder_of_another_user_both_users_and_the_remedy_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 3000)
    owner = tmp_path.stat().st_uid
    missing = tmp_path / "logs" / "namesrv.log"
    assert problem_with(str(missing), DENIED) == (
        f"Permission denied for uid 3000: {tmp_path} belongs to uid {owner}; run `chown -R 3000 {tmp_path}`"
    )


@pytest.mark.parametrize(("kind", "mode"), [("file", 0o400), ("folder", 0o500), ("folder", 0o600)])
def test_of_a_mode_that_forbids_it_the_mode_and_the_remedy_are_named(tmp_path, kind, mode):
    path = tmp_path / "x"
    path.touch() if kind == "file" else path.mkdir()
    path.chmod(mode)
    text = problem_with(str(path), DENIED)
    assert text.endswith(f"{path} has mode {mode:o}; run `chmod u+rwX {path}`")
    path.chmod(0o700)


def test_where_owner_and_mode_allow_it_something_else_forbids_it(tmp_path):
    (tmp_path / "x").touch(0o600)
    assert "SELinux or AppArmor may forbid it (mount it with :z)" in problem_with(str(tmp_path / "x"), DENIED)


def test_a_read_only_file_system_needs_a_volume():
    error = OSError(errno.EROFS, os.strerror(errno.EROFS))
    assert "mount a volume that can be written" in problem_with("/x", error)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space"), OSError(errno.EPERM, "is a pipe")])
def test_other_problems_are_told_as_they_are(error):
    assert problem_with("/x", error) == error.strerror
