"""Commits and leases in an object store: at once, with lost answers, and by a driver that dies between requests."""

import threading
from collections.abc import Iterator

import pytest

from namekeeper.pipeline.errors import BusyError, WarehouseError
from namekeeper.pipeline.files.folder import Folder, open_folder
from namekeeper.pipeline.store.lock import WarehouseLease, lock_warehouse
from namekeeper.pipeline.store.manifest import Manifest
from namekeeper.pipeline.store.parquet_store import ParquetStore
from namekeeper.pipeline.store.warehouse_folder import commit_run
from tests.support.pipeline.object_store import S3, store_environment

TRIALS = 20
DENIED = b"<Error><Code>AccessDenied</Code></Error>"
SLOW = b"<Error><Code>SlowDown</Code></Error>"


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with store_environment() as store:
        yield store


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    yield server
    server.fault = lambda _: None


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


def test_of_two_commits_at_once_exactly_one_wins(folder):
    store = ParquetStore(folder)
    store.create("UTC")
    for trial in range(TRIALS):
        runs = [store.begin(), store.begin()]
        ends = raced(*(lambda run=run: run.commit(b"%d" % run.load_id) for run in runs))
        assert ends == ["done", "refused"], f"trial {trial}"
        assert store.version().ledger in {b"%d" % run.load_id for run in runs}


def test_of_two_leases_at_once_exactly_one_is_taken(s3, tmp_path):
    for trial in range(TRIALS):
        folder = open_folder(s3.uri(f"{tmp_path.name}/{trial}"))
        assert raced(WarehouseLease(folder).take, WarehouseLease(folder).take) == ["done", "refused"]


def test_a_lease_is_released_for_the_next_run(folder):
    with lock_warehouse(folder) as confirm:
        confirm()
        with pytest.raises(BusyError), lock_warehouse(folder):
            pass
    with lock_warehouse(folder) as confirm:
        confirm()


@pytest.mark.parametrize("step", range(4))
def test_a_driver_that_dies_at_any_request_of_a_commit_leaves_one_version_whole(s3, folder, step):
    store = ParquetStore(folder)
    store.create("UTC")
    store.begin().commit(b"before")
    run, asked = store.begin(), []

    def dies(environ):
        asked.append(environ)
        return ("403 Forbidden", DENIED) if len(asked) > step else None

    s3.fault = dies
    try:
        run.commit(b"after")
        is_done = True
    except OSError:
        is_done = False
    s3.fault = lambda _: None
    version = store.version()
    assert (version.manifest.number, version.ledger) in {(1, b"before"), (2, b"after")}
    assert not is_done or version.ledger == b"after"
    store.begin().commit(b"next")
    assert store.version().ledger == b"next"


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
