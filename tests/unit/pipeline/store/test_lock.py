"""One run at a time."""

import json
import os
import subprocess
import sys
import threading

import pytest
from pyarrow.fs import LocalFileSystem

from namekeeper.pipeline.errors import BusyError, WarehouseError
from namekeeper.pipeline.files.arrow_folder import ArrowFolder
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.store.lock import LEASE_MS, LeaseKeeper, WarehouseLease, lock_warehouse
from tests.support.system.waiting import PATIENCE

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


class Shaky(LocalFolder):
    """A folder with conditional writes whose answers are lost, or that is away for a while."""

    is_away = False
    is_answer_lost = False

    def __init__(self, path):
        super().__init__(path)
        self.replaced = threading.Event()

    def put_if_unchanged(self, path, data, version):
        self._look()
        is_written = super().put_if_unchanged(path, data, version)
        self.replaced.set()
        # The client repeats a request whose answer is lost; the second is refused.
        return super().put_if_unchanged(path, data, version) if self.is_answer_lost else is_written

    def put_new(self, path, data):
        self._look()
        is_new = super().put_new(path, data)
        return super().put_new(path, data) if self.is_answer_lost else is_new

    def read_versioned(self, path):
        self._look()
        return super().read_versioned(path)

    def _look(self):
        if self.is_away:
            raise OSError("the store is away")


@pytest.fixture
def shaky(tmp_path) -> Shaky:
    return Shaky(str(tmp_path))


@pytest.fixture
def store(tmp_path, shaky):
    return ArrowFolder("s3://x/w", LocalFileSystem(), str(tmp_path), lambda *_: shaky)


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
    with pytest.raises(BusyError, match="s3://x/w is not this run's any more"):
        first.renew()
    first.drop()
    second.renew()
    second.drop()
    first.take()


def test_a_run_that_slept_for_eleven_minutes_does_not_take_its_lease_back(store):
    clock = Clock()
    slept, other = WarehouseLease(store, clock), WarehouseLease(store, clock)
    slept.take()
    clock.now += 11 * 60_000
    with pytest.raises(BusyError, match="its lease has ended, because it could not be renewed in time"):
        slept.renew()
    other.take()
    held = store.read("lock")
    with pytest.raises(BusyError):
        slept.renew()
    assert store.read("lock") == held
    other.renew()


def test_a_clock_that_stood_still_does_not_hide_that_another_run_took_the_lease(store):
    """A suspended machine may not notice that it slept; what the file says decides."""
    sleeper, clock = Clock(), Clock()
    slept, other = WarehouseLease(store, sleeper), WarehouseLease(store, clock)
    slept.take()
    clock.now += 11 * 60_000
    other.take()
    with pytest.raises(BusyError, match=r"it was taken over by process \d+ on"):
        slept.renew()
    slept.drop()
    other.renew()


@pytest.mark.parametrize("left", [None, b"{}", b'{"owner": "", "token": "", "until_ms": 0}'])
def test_of_two_that_take_a_free_lease_at_once_exactly_one_gets_it(store, left):
    for trial in range(20):
        store.delete("lock")
        if left is not None:
            store.put("lock", left)
        start, outcomes = threading.Barrier(2), []

        def take(start=start, outcomes=outcomes):
            lease = WarehouseLease(store)
            start.wait()
            try:
                lease.take()
            except BusyError:
                outcomes.append("refused")
            else:
                outcomes.append("taken")

        threads = [threading.Thread(target=take) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["refused", "taken"], f"trial {trial}"


def test_a_write_whose_answer_was_lost_counts(store, shaky):
    shaky.is_answer_lost = True
    clock = Clock()
    lease = WarehouseLease(store, clock)
    lease.take()
    clock.now += LEASE_MS - 1
    lease.renew()
    clock.now += LEASE_MS - 1
    lease.renew()
    assert json.loads(store.read("lock"))["until_ms"] == clock.now + LEASE_MS


@pytest.mark.parametrize(
    "content", [b"{", b"\xff", b"[" * 100_000, b'{"owner":"x","token":"y","until_ms":1e999}']
)
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
    with lock_warehouse(store):
        pass


def test_a_run_that_fails_or_is_interrupted_gives_its_lease_up(store):
    for error in (OSError, KeyboardInterrupt):
        with pytest.raises(error), lock_warehouse(store):
            raise error
    with lock_warehouse(store):
        pass


def test_a_lease_is_renewed_in_the_background(store, shaky):
    with LeaseKeeper(WarehouseLease(store), every=0.001):
        assert shaky.replaced.wait(30 * PATIENCE)


def test_a_store_that_is_away_for_a_while_costs_no_lease(store, shaky):
    with LeaseKeeper(WarehouseLease(store), every=0.001, after_failure=0.001) as keeper:
        shaky.is_away = True
        with pytest.raises(OSError, match="the store is away"):
            keeper.confirm()
        shaky.is_away = False
        keeper.confirm()
        shaky.replaced.clear()
        assert shaky.replaced.wait(30 * PATIENCE)


def test_an_error_of_the_thread_that_renews_ends_the_run_before_it_commits(store, monkeypatch):
    lease = WarehouseLease(store)
    monkeypatch.setattr(lease, "renew", broken)
    with LeaseKeeper(lease, every=0.001) as keeper:
        keeper._thread.join(30 * PATIENCE)
        with pytest.raises(
            WarehouseError, match=r"was not renewed: LookupError\('a bug'\); nothing of this run"
        ):
            keeper.confirm()
    with lock_warehouse(store):
        pass


def test_a_lease_that_was_lost_in_the_background_stays_lost(store):
    clock = Clock()
    with LeaseKeeper(WarehouseLease(store, clock), every=0.001) as keeper:
        clock.now += LEASE_MS
        keeper._thread.join(30 * PATIENCE)
        clock.now -= LEASE_MS
        with pytest.raises(BusyError, match="is not this run's any more"):
            keeper.confirm()


def broken(*_: object) -> None:
    raise LookupError("a bug")
