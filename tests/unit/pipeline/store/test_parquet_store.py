"""What a warehouse does without data; with data it is in tests/spark."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import (
    DataFile,
    Manifest,
    commit_manifest,
    newest_manifest,
    numbers_of,
)
from namekeeper.pipeline.store.parquet_store import ParquetStore, ParquetTransaction
from namekeeper.pipeline.store.warehouse_folder import KEPT_MANIFESTS, KEPT_MS, commit_run
from tests.support.system.processes import eventually


@pytest.fixture
def store(tmp_path) -> ParquetStore:
    store = ParquetStore(open_folder(str(tmp_path)))
    store.create("UTC")
    return store


def test_what_is_no_warehouse_says_so(tmp_path):
    with pytest.raises(WarehouseError, match="`namekeeper pipeline run` makes one"):
        ParquetStore(open_folder(str(tmp_path))).reader()


def test_it_is_made_once(store):
    store.create("Europe/Berlin")
    assert store.reader().report_time_zone == "UTC"
    assert store.version().is_empty
    assert store.version().ledger is None


def test_tables_without_a_manifest_are_not_taken_over(tmp_path):
    folder = open_folder(str(tmp_path))
    folder.put("tables/events/1-00000000/part.parquet", b"x")
    with pytest.raises(WarehouseError, match="restore its folder manifests/"):
        ParquetStore(folder).create("UTC")


def test_a_first_run_that_died_is_in_nobodys_way(tmp_path):
    folder = open_folder(str(tmp_path))
    for left in ("lock", "staging/1-00000000/part.parquet", "loads/1"):
        folder.put(left, b"")
    store = ParquetStore(folder)
    store.create("UTC")
    assert store.version().is_empty


def test_a_load_id_is_used_once_whether_or_not_it_is_committed(store):
    assert store.begin().load_id == 1
    second = store.begin()
    assert second.load_id == 2
    second.commit(b"{}")
    assert store.version().ledger == b"{}"
    assert store.begin().load_id == 3
    store.clean_up()
    assert store.begin().load_id == 4


def test_of_two_only_the_first_commit_counts(store):
    one, two = store.begin(), store.begin()
    one.commit(b"one")
    with pytest.raises(WarehouseError, match="another run has committed meanwhile"):
        two.commit(b"two")
    assert store.version().ledger == b"one"


def test_a_lost_ledger_is_none(store, tmp_path):
    store.begin().commit(b"{}")
    for path in (tmp_path / "ledger").iterdir():
        path.unlink()
    assert store.version().ledger is None


def test_cleaning_up_leaves_what_a_reader_may_need(store, tmp_path):
    folder = open_folder(str(tmp_path))
    for number in range(1, 7):
        path = f"tables/t/{number}-0000000{number}/part.parquet"
        folder.put(path, b"x")
        folder.put(f"ledger/{number}.json", b"{}")
        commit_manifest(
            folder, Manifest(number, number + 1, "UTC", f"ledger/{number}.json", {"t": (DataFile(path, 1),)})
        )
    folder.put("tables/t/5-00000009/part.parquet", b"of a run that died")
    folder.put("staging/5-00000009/part.parquet", b"of a run that died")
    store.clean_up()
    assert numbers_of(folder) == list(range(7)), "readers may have begun within the hour"
    assert sorted(path.name for path in (tmp_path / "tables/t").iterdir()) == [
        f"{n}-0000000{n}" for n in range(1, 7)
    ]
    assert not (tmp_path / "staging").exists()
    long_ago = (tmp_path / "manifests/000000000001.json").stat().st_mtime - KEPT_MS / 1_000 - 60
    for path in (tmp_path / "manifests").iterdir():
        os.utime(path, (long_ago, long_ago))
    store.clean_up()
    assert numbers_of(folder) == [4, 5, 6]
    assert len(numbers_of(folder)) == KEPT_MANIFESTS
    assert sorted(path.name for path in (tmp_path / "tables/t").iterdir()) == [
        f"{n}-0000000{n}" for n in (4, 5, 6)
    ]
    assert sorted(path.name for path in (tmp_path / "ledger").iterdir()) == ["4.json", "5.json", "6.json"]


def test_a_reader_finds_one_run_in_every_table_while_runs_commit(store, tmp_path):
    """A reader opens the warehouse between the files of two tables of a run, and before and after its commit."""
    folder, tables = open_folder(str(tmp_path)), (FACTS["events"], GOLD["incident"])
    seen: list[tuple[bytes, ...]] = []
    is_over = Event()

    def read() -> None:
        while not is_over.is_set():
            reader = store.reader()
            seen.append(tuple(folder.read(path) for table in tables for path in reader.paths(table)))

    def reader_has_read() -> None:
        before = len(seen)
        eventually(lambda: reading.done() or len(seen) > before + 1, within=60, what="a reader")

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        try:
            for number in (1, 2, 3):
                written = {}
                for table in tables:
                    path = f"tables/{table.name}/{number}-00000001/part.parquet"
                    folder.put(path, b"%d" % number)
                    written[table.name] = (DataFile(path, 1),)
                    reader_has_read()
                commit_run(folder, Manifest(number, number + 1, "UTC", "", written), b"{}")
                store.clean_up()
                reader_has_read()
        finally:
            is_over.set()
        reading.result()
    assert [*dict.fromkeys(seen)] == [(), (b"1", b"1"), (b"2", b"2"), (b"3", b"3")]


def test_cleaning_up_leaves_what_a_later_load_is_writing(store, tmp_path):
    """A run that lost its lease after its commit cleans up while the next one is at work."""
    folder = open_folder(str(tmp_path))
    first, second = store.begin(), store.begin()
    for path in (f"tables/t/{second.load_id}-00000002/part.parquet", f"staging/{second.load_id}-00000002/x"):
        folder.put(path, b"of the next run")
    first.commit(b"{}")
    store.clean_up()
    left = {file.path.partition("/")[0] for file in folder.files()}
    assert {"tables", "staging"} <= left


def test_a_run_goes_on_from_the_version_whose_ledger_it_has_read(store):
    """On a later version the rows that its ledger calls new would be there twice."""
    version = store.version()
    store.begin().commit(b"of another run")
    change = store.begin(version.manifest)
    with pytest.raises(WarehouseError, match="another run has committed meanwhile"):
        change.commit(b"{}")
    assert store.version().ledger == b"of another run"


def test_ledger_and_manifest_are_of_one_version(store, tmp_path, monkeypatch):
    """A run commits, and deletes the old ledger, between the reading of the one and of the other."""
    store.begin().commit(b"first")
    read = type(store._folder).read

    def another_commits_first(folder, path):
        if path.startswith("ledger/"):
            monkeypatch.undo()
            store.begin().commit(b"second")
            folder.delete(path)
        return read(folder, path)

    monkeypatch.setattr(type(store._folder), "read", another_commits_first)
    version = store.version()
    assert (version.manifest.number, version.ledger) == (2, b"second")


def test_several_tables_can_take_the_same_file_and_what_nobody_takes_goes(store, tmp_path):
    folder = open_folder(str(tmp_path))
    change = store.begin()
    one, two = change.shared_files(), change.shared_files()
    for shared in (one, two):
        folder.put(f"{shared.path}/_part=x/a.parquet", b"x")
    events, kinds = FACTS["events"], FACTS["broker_minute"]
    for table in (events, kinds):
        one.take(table, folder.files(one.path))
    change.commit(b"{}")
    store.clean_up()
    assert [file.path for file in folder.files("tables")] == [f"{one.path}/_part=x/a.parquet"]
    manifest = newest_manifest(folder)
    assert manifest.tables["events"] == manifest.tables["broker_minute"]


def test_rows_of_a_run_are_looked_for_only_in_files_that_it_wrote(tmp_path, monkeypatch):
    """Also in files of earlier runs that it has merged: these have other rows too."""
    asked: list[list[str]] = []
    conditions: list[str] = []
    monkeypatch.setattr(
        ParquetTransaction,
        "_read",
        lambda self, spark, table, parts: (
            asked.append([part.path for part in parts]) or SimpleNamespace(where=conditions.append)
        ),
    )
    earlier = [DataFile(f"tables/events/{load}-1f0c6e2a/part-0.parquet", 9) for load in (1, 11, 12)]
    transaction = ParquetTransaction(
        open_folder(str(tmp_path)), Manifest(3, 2, "UTC", "", {"events": earlier}), 1
    )
    transaction.added(None, FACTS["events"])
    assert asked == [["tables/events/1-1f0c6e2a/part-0.parquet"]]
    assert conditions == ["load_id = 1"]
