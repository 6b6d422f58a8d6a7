"""Name servers are found by their locked files, and nobody else is taken for one."""

import fcntl
import os
import subprocess
import sys

import pytest

from namekeeper.app import pid_file as module
from namekeeper.app.pid_file import hold_pid_file, running_name_servers

HOLD = """
import sys
from namekeeper.app.pid_file import hold_pid_file
file = hold_pid_file(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_running_server_is_found_and_a_dead_one_is_not(tmp_path, other):
    assert running_name_servers(str(tmp_path)) == [other.pid]
    other.kill()
    other.wait()
    assert list(tmp_path.iterdir())
    assert running_name_servers(str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_released_file_is_gone(tmp_path):
    file = hold_pid_file(str(tmp_path / "logs"))
    assert file.path.read_text().split()[0] == str(os.getpid())
    file.release()
    file.release()
    assert list((tmp_path / "logs").iterdir()) == []


def test_a_server_of_another_container_is_none_of_ours(tmp_path, other, monkeypatch):
    monkeypatch.setattr(module, "_pid_namespace", lambda: "pid:[1]")
    assert running_name_servers(str(tmp_path)) == []
    assert list(tmp_path.iterdir())


def test_a_file_that_is_just_being_written_is_left_alone(tmp_path):
    (tmp_path / "namesrv.1.pid").touch()
    assert running_name_servers(str(tmp_path)) == []
    assert list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_has_no_servers(tmp_path):
    assert running_name_servers(str(tmp_path / "no")) == []


def test_a_folder_that_can_not_be_written_is_an_error(tmp_path):
    (tmp_path / "in the way").touch()
    with pytest.raises(OSError, match="in the way"):
        hold_pid_file(str(tmp_path / "in the way" / "logs"))


def claimed(folder, number, name=None):
    """A locked file that names a process which never opened it."""
    path = folder / (name or f"namesrv.{number}.pid")
    path.write_text(f"{number}\n{module._pid_namespace()}\n")
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def test_a_stranger_whose_number_somebody_wrote_and_locked_is_none_of_ours(tmp_path):
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        fd = claimed(tmp_path, stranger.pid)
        assert running_name_servers(str(tmp_path)) == []
        os.close(fd)
    finally:
        stranger.kill()
        stranger.wait()


def test_a_file_named_after_another_number_is_none_of_ours(tmp_path, other):
    fd = claimed(tmp_path, os.getpid(), "namesrv.77.pid")
    assert running_name_servers(str(tmp_path)) == [other.pid]
    os.close(fd)


def test_pipes_folders_and_links_are_no_servers(tmp_path):
    os.mkfifo(tmp_path / "namesrv.1.pid")
    (tmp_path / "namesrv.2.pid").mkdir()
    (tmp_path / "namesrv.3.pid").symlink_to("/etc/passwd")
    assert running_name_servers(str(tmp_path)) == []
    assert len(list(tmp_path.iterdir())) == 3


def test_our_own_file_is_written_through_no_link(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("content")
    (tmp_path / f"namesrv.{os.getpid()}.pid").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        hold_pid_file(str(tmp_path))
    assert precious.read_text() == "content"


def test_a_file_that_a_stranger_locked_is_an_error_and_no_wait(tmp_path):
    fd = claimed(tmp_path, os.getpid())
    with pytest.raises(BlockingIOError):
        hold_pid_file(str(tmp_path))
    os.close(fd)


def test_a_file_in_a_folder_that_became_something_else_is_released_all_the_same(tmp_path):
    file = hold_pid_file(str(tmp_path / "logs"))
    (tmp_path / "logs").rename(tmp_path / "moved")
    (tmp_path / "logs").write_text("a file")
    file.release()
    assert running_name_servers(str(tmp_path / "moved")) == []
