"""One process at a time has the lock of a folder."""

import fcntl
import os
import subprocess
import sys

import pytest

from namekeeper.errors import JournalError
from namekeeper.journal.disk import lock
from namekeeper.journal.disk.lock import is_locked, take_lock


def test_a_lock_is_seen_until_it_is_released(tmp_path):
    assert not is_locked(str(tmp_path))
    release = take_lock(str(tmp_path))
    assert is_locked(str(tmp_path))
    with pytest.raises(JournalError, match=f"in use by process {os.getpid()}: stop it, or give"):
        take_lock(str(tmp_path))
    release()
    release()
    assert not is_locked(str(tmp_path))


def test_who_only_looks_whether_it_is_locked_keeps_nobody_from_it(tmp_path, monkeypatch):
    take_lock(str(tmp_path))()
    looking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(lock.time, "sleep", lambda _seconds: fcntl.flock(looking, fcntl.LOCK_UN))
    release = take_lock(str(tmp_path))
    assert is_locked(str(tmp_path))
    release()
    os.close(looking)


def test_who_looks_for_ever_is_not_waited_for(tmp_path, monkeypatch):
    take_lock(str(tmp_path))()
    monkeypatch.setattr(lock.time, "sleep", lambda _seconds: None)
    with (tmp_path / "lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        with pytest.raises(JournalError, match="in use by process"):
            take_lock(str(tmp_path))


def test_the_kernel_gives_a_folder_back_when_its_holder_dies(tmp_path):
    text = (
        "import os, sys\n"
        "from namekeeper.journal.disk.lock import take_lock\n"
        "take_lock(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", text, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(JournalError, match=f"in use by process {holder.pid}:"):
            take_lock(str(tmp_path))
        holder.kill()
    take_lock(str(tmp_path))()


def test_a_lock_file_that_is_a_link_is_refused_and_its_target_left_alone(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("content")
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        take_lock(str(tmp_path))
    assert not is_locked(str(tmp_path))
    assert precious.read_text() == "content"
