"""One run at a time."""

import json
import os
import subprocess
import sys

import pytest
from pyarrow.fs import LocalFileSystem

from namekeeper.pipeline.errors import BusyError, WarehouseError
from namekeeper.pipeline.files.arrow_folder import ArrowFolder
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.lock import LEASE_MS, WarehouseLease, lock_warehouse

LOCK_AND_DIE = """
import os, sys
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.lock import lock_warehouse
with lock_warehouse(open_folder(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), 9)
"""


def test_the_second_is_refused_and_told_who_has_it(tmp_path):
    folder = open_folder(str(tmp_path / "w"))
    with (
        lock_warehouse(folder),
        pytest.raises(BusyError, match=rf"process {os.getpid()}; wait for it"),
        lock_warehouse(folder),
    ):
        pass
    with lock_warehouse(folder) as confirm:
        confirm()


def test_the_lock_dies_with_its_process(tmp_path):
    folder = open_folder(str(tmp_path))
    command = [sys.executable, "-c", LOCK_AND_DIE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BusyError, match=f"process {other.pid}"), lock_warehouse(folder):
            pass
        other.communicate(b"")
    with lock_warehouse(folder):
        pass


def test_a_folder_that_can_not_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(WarehouseError, match="can't be written"),
        lock_warehouse(open_folder(str(tmp_path / "file" / "w"))),
    ):
        pass


class Clock:
    now = 1_000_000

    def __call__(self):
        return self.now


@pytest.fixture
def store(tmp_path):
    return ArrowFolder("s3://x/w", LocalFileSystem(), str(tmp_path))


def test_a_lease_stands_until_it_ends(store):
    clock = Clock()
    first, second = WarehouseLease(store, clock), WarehouseLease(store, clock)
    first.take()
    with pytest.raises(BusyError, match=r"in use by process .* ends in 600 s"):
        second.take()
    clock.now += LEASE_MS // 2
    first.renew()
    clock.now += LEASE_MS // 2
    with pytest.raises(BusyError):
        second.take()
    clock.now += LEASE_MS
    second.take()
    with pytest.raises(BusyError, match="taken over by process"):
        first.confirm()
    first.drop()
    second.confirm()
    second.drop()
    first.take()


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_a_lease_that_can_not_be_read_is_nobodys(store, content):
    store.put("lock", content)
    WarehouseLease(store).take()
    assert json.loads(store.read("lock"))["owner"].startswith(f"process {os.getpid()}")


def test_elsewhere_a_run_has_a_lease_while_it_lasts(store, tmp_path):
    with lock_warehouse(store) as confirm:
        confirm()
        assert json.loads((tmp_path / "lock").read_bytes())["owner"].startswith(f"process {os.getpid()}")
        with pytest.raises(BusyError), lock_warehouse(store):
            pass
    assert not (tmp_path / "lock").exists()
