"""Commits and leases in an object store: at once, with lost answers, and by a driver that dies between requests."""

import threading
from itertools import count
from typing import Any

import pytest

from namekeeper.pipeline.errors import BusyError, WarehouseError
from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.files.folder import Folder, open_folder
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store import warehouse_folder
from namekeeper.pipeline.store.lock import WarehouseLease, lock_warehouse
from namekeeper.pipeline.store.manifest import Manifest
from namekeeper.pipeline.store.parquet_store import ParquetStore
from namekeeper.pipeline.store.warehouse_folder import commit_run
from tests.support.pipeline.object_store import S3

TRIALS = [8, pytest.param(20, marks=pytest.mark.long)]
DENIED = b"<Error><Code>AccessDenied</Code></Error>"
SLOW = b"<Error><Code>SlowDown</Code></Error>"


@pytest.fixture
def folder(s3: S3, tmp_path) -> Folder:
    return open_folder(s3.uri(f"{tmp_path.name}/w"))


def raced(*actions) -> list[str]:
    """How actions end that begin at the same instant."""
    start, ends = threading.Barrier(len(actions)), []

    def perform(action) -> None:
        start.wait()
        try:
            action()
        except WarehouseError:
            ends.append("refused")
        else:
            ends.append("done")

    threads = [threading.Thread(target=perform, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(ends)


@pytest.mark.parametrize("trials", TRIALS)
def test_of_two_commits_at_once_exactly_one_wins(folder, trials):
    store = ParquetStore(folder)
    store.create("UTC")
    for trial in range(trials):
        runs = [store.begin(), store.begin()]
        ends = raced(*(lambda run=run: run.commit(b"%d" % run.load_id) for run in runs))
        assert ends == ["done", "refused"], f"trial {trial}"
        assert store.version().ledger in {b"%d" % run.load_id for run in runs}


@pytest.mark.parametrize("trials", TRIALS)
def test_of_two_leases_at_once_exactly_one_is_taken(s3, tmp_path, trials):
    for trial in range(trials):
        folder = open_folder(s3.uri(f"{tmp_path.name}/{trial}"))
        assert raced(WarehouseLease(folder).take, WarehouseLease(folder).take) == ["done", "refused"]


def test_a_lease_is_released_for_the_next_run(folder):
    with lock_warehouse(folder) as confirm:
        confirm()
        with pytest.raises(BusyError), lock_warehouse(folder):
            pass
    with lock_warehouse(folder) as confirm:
        confirm()


def small_run(folder: Folder, ledger: bytes) -> None:
    """What a run asks of a store, without Spark: one new file in one table."""
    with lock_warehouse(folder) as confirm:
        store = ParquetStore(folder)
        store.create("UTC")
        run = store.begin()
        path = f"tables/records/{run.load_id}-0a1b2c3d/part-0.parquet"
        folder.put(path, ledger)
        run.shared_files().take(FACTS["kv"], [File(path, len(ledger))])
        confirm()
        run.commit(ledger)
        confirm()
        store.clean_up()


class Driver:
    """Dies before a request: neither this one nor what the process then tries is done."""

    def __init__(self, at: int) -> None:
        self.is_dead = False
        self._left = at

    def __call__(self, environ: dict[str, Any]) -> tuple[str, bytes] | None:
        self._left -= 1
        self.is_dead = self._left < 0
        return ("403 Forbidden", DENIED) if self.is_dead else None


@pytest.mark.parametrize("step", [7, *(pytest.param(step, marks=pytest.mark.long) for step in (1, 3))])
def test_a_driver_that_dies_at_any_request_leaves_one_version_whole(s3, folder, monkeypatch, step):
    monkeypatch.setattr(warehouse_folder, "KEPT_MS", -1)
    monkeypatch.setattr(warehouse_folder, "KEPT_MANIFESTS", 1)
    small_run(folder, b"first")
    store, commits = ParquetStore(folder), 0
    before = store.reader().paths(FACTS["kv"])
    for at in count(step=step):
        ledger = b"run %d" % at
        s3.fault = driver = Driver(at)
        try:
            small_run(folder, ledger)
        except (OSError, WarehouseError):
            assert driver.is_dead
        s3.fault = lambda _: None
        paths = store.reader().paths(FACTS["kv"])
        assert set(paths) <= {file.path for file in folder.files("tables")}, f"died at request {at}"
        assert folder.read(paths[-1]) == store.version().ledger
        assert len(before) <= len(paths) <= len(before) + 1
        assert paths[: len(before)] == before
        commits += paths != before
        before = paths
        if not driver.is_dead:
            break
        folder.delete("lock")  # its lease has ended
    assert store.version().ledger == ledger
    assert 1 < commits < at


def test_a_commit_whose_answer_is_lost_counts(s3, folder):
    store = ParquetStore(folder)
    store.create("UTC")
    run, lost = store.begin(), []

    def loses(environ):
        if environ["REQUEST_METHOD"] == "PUT" and "/manifests/" in environ["PATH_INFO"] and not lost:
            lost.append(s3.perform(environ))
            return "503 Slow Down", SLOW
        return None

    s3.fault = loses
    run.commit(b"after")
    assert lost
    assert store.version().ledger == b"after"


def test_a_commit_asks_for_nothing_outside_its_prefix(s3, folder):
    """A role may be allowed one prefix only."""
    s3.requests.clear()
    commit_run(folder, Manifest(1, 2, "UTC", "", {}), b"{}")
    inside = f"/{s3.bucket}/{folder.path.partition('/')[2]}/"
    assert [path for method, path in s3.requests if not path.startswith(inside)] == []
