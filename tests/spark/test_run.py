"""Runs that die, meet each other, find the ledger gone or two journals of one name; and what is left of them."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from namekeeper.pipeline.errors import BusyError, ConflictError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest import few_records
from namekeeper.pipeline.store import parquet_store
from namekeeper.pipeline.store.lock import lock_warehouse
from namekeeper.pipeline.store.parquet_store import ParquetStore, ParquetTransaction
from namekeeper.pipeline.table import Table, columns
from tests.spark.dying import DiedError, dying
from tests.spark.facts_oracle import expected_facts, written
from tests.spark.running import few_kinds, leave_gold_out, rows, run
from tests.support.journal.segments import UUID8, write_segment

pytestmark = [pytest.mark.slow]

BOOT = 1_772_323_200_000
RECORDS = few_kinds("ns", BOOT, 40)
OTHER = "ffffffff"
SMALL_FILES = 6
"""Instead of the pipeline's 32, of which each is a job of Spark's."""
TABLE = Table("t", "", "", ("k",), columns("day string: Day.", "k bigint: Key."))


@pytest.fixture(autouse=True)
def without_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_gold_out(monkeypatch)


def test_a_run_that_dies_anywhere_is_finished_by_the_next(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_segment(tmp_path / "j", RECORDS[:10])
    run(spark, tmp_path / "w", tmp_path / "j")
    before = written(tmp_path / "w")
    write_segment(tmp_path / "j", RECORDS[10:])
    for name, at, after in (
        ("append", 2, True),
        ("_written_here", 2, True),
        ("commit", 1, False),
        ("commit", 1, True),
    ):
        method = getattr(ParquetTransaction, name)
        with monkeypatch.context() as patch:
            if name == "append":  # which Spark does for many records
                patch.setattr(few_records, "MOST_LINES", 0)
            patch.setattr(ParquetTransaction, name, dying(method, at=at, after=after))
            with pytest.raises(DiedError):
                run(spark, tmp_path / "w", tmp_path / "j")
        if (name, after) != ("commit", True):
            assert written(tmp_path / "w") == before, "a reader sees nothing of it"
    assert run(spark, tmp_path / "w", tmp_path / "j").loads == [], "the last had committed"
    assert written(tmp_path / "w") == expected_facts(RECORDS, UUID8)
    assert {row["load_id"] for row in rows(spark, tmp_path / "w", "kv")} == {1, 5}
    write_segment(tmp_path / "j", few_kinds("ns", BOOT + 9_000, 4))
    run(spark, tmp_path / "w", tmp_path / "j")
    folders = {path.name.partition("-")[0] for path in (tmp_path / "w" / "tables" / "kv").iterdir()}
    assert folders == {"1", "5", "6"}, "what the dead have left is gone"
    assert not (tmp_path / "w" / "staging").exists()


def test_a_lost_ledger_is_made_from_the_facts(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(tmp_path / "j", RECORDS[:11])  # the 11th waits for the 12th
    write_segment(tmp_path / "j", RECORDS[20:])
    run(spark, tmp_path / "w", tmp_path / "j")
    shutil.rmtree(tmp_path / "w" / "ledger")
    write_segment(tmp_path / "j", RECORDS[11:20])
    run(spark, tmp_path / "w", tmp_path / "j")
    assert written(tmp_path / "w") == expected_facts(RECORDS, UUID8)
    assert len(rows(spark, tmp_path / "w", "incomplete")) == 1
    assert run(spark, tmp_path / "w", tmp_path / "j").loads == []


def test_two_at_once_and_two_of_one_name(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(tmp_path / "j", RECORDS)
    with (
        lock_warehouse(open_folder(str(tmp_path / "w"))),
        pytest.raises(BusyError, match="is in use by process"),
    ):
        run(spark, tmp_path / "w", tmp_path / "j")
    write_segment(tmp_path / "j", few_kinds("ns", BOOT + 7, 4), uuid8=OTHER)
    write_segment(tmp_path / "j", few_kinds("good", BOOT, 4))
    refused = run(spark, tmp_path / "w", tmp_path / "j")
    assert [conflict.namesrv for conflict in refused.conflicts] == ["ns"]
    assert {row["namesrv"] for row in rows(spark, tmp_path / "w", "kv")} == {"good"}
    run(spark, tmp_path / "w", tmp_path / "j", take={"ns": UUID8})
    assert {row["uuid8"] for row in rows(spark, tmp_path / "w", "events")} == {UUID8}
    later = run(spark, tmp_path / "w", tmp_path / "j")
    assert (later.conflicts, later.loads) == ([], []), "the choice is remembered"
    write_segment(tmp_path / "k", few_kinds("good", BOOT + 3, 4), uuid8=OTHER)
    with pytest.raises(ConflictError, match="build a new warehouse"):
        run(spark, tmp_path / "w", tmp_path / "j", tmp_path / "k", take={"good": OTHER})


def test_tables_are_added_to_and_replaced_by_partition(spark: SparkSession, tmp_path: Path) -> None:
    store = ParquetStore(open_folder(str(tmp_path / "odd {a,b} [c] %20 * ?")))
    store.create("UTC")

    def frame(*pairs: tuple[str, int]) -> Any:
        return spark.createDataFrame(list(pairs), TABLE.ddl)

    def held(reader: Any) -> list[tuple[str, int]]:
        return sorted((row.day, row.k) for row in reader.table(spark, TABLE).collect())

    change = store.begin()
    assert held(change) == []
    change.replace(TABLE, frame(("d/1", 1), ("d 2", 2), ("d 2", 3)), by="day")
    assert held(change) == [("d 2", 2), ("d 2", 3), ("d/1", 1)]
    assert held(store.reader()) == [], "not before the commit"
    change.commit(b"{}")
    reader = store.reader()

    change = store.begin()
    change.replace(TABLE, frame(("d 2", 9)), by="day", values=["d 2", "d 3"])
    change.commit(b"{}")
    assert held(store.reader()) == [("d 2", 9), ("d/1", 1)]
    assert held(reader) == [("d 2", 2), ("d 2", 3), ("d/1", 1)], "who began before still sees what was"
    change = store.begin()
    change.replace(TABLE, frame(("x", 1)))
    change.commit(b"{}")
    assert held(store.reader()) == [("x", 1)]


def test_many_small_files_become_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_store, "SMALL_FILES", SMALL_FILES)
    store = ParquetStore(open_folder(str(tmp_path)))
    store.create("UTC")
    change = store.begin()
    for number in range(SMALL_FILES):
        change.append(TABLE, spark.createDataFrame([("d", number)], TABLE.ddl))
    change.commit(b"{}")
    table = store.reader().table(spark, TABLE)
    assert len(table.inputFiles()) == 1
    assert sorted(row.k for row in table.collect()) == list(range(SMALL_FILES))


def test_small_files_of_many_rows_are_left_as_they_are(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is much alike packs well: a file of a million rows may be small, and was written again by each load."""
    monkeypatch.setattr(parquet_store, "SMALL_FILES", SMALL_FILES)
    monkeypatch.setattr(parquet_store, "FEW_ROWS", 3)
    store = ParquetStore(open_folder(str(tmp_path)))
    store.create("UTC")
    change = store.begin()
    for number in range(SMALL_FILES):
        change.append(TABLE, spark.createDataFrame([("d", number)] * 3, TABLE.ddl).coalesce(1))
    for number in range(SMALL_FILES - 1):
        change.append(TABLE, spark.createDataFrame([("e", number)] * 2, TABLE.ddl).coalesce(1))
    change.commit(b"{}")
    assert len(store.reader().table(spark, TABLE).inputFiles()) == 2 * SMALL_FILES - 1
    change = store.begin()
    change.append(TABLE, spark.createDataFrame([("f", 0)], TABLE.ddl))
    change.commit(b"{}")
    table = store.reader().table(spark, TABLE)
    assert len(table.inputFiles()) == SMALL_FILES + 1
    assert table.count() == 5 * SMALL_FILES - 1
