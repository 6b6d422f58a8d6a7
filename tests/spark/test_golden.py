"""The golden warehouse on Spark: today's run makes the same rows of the same segments, and goes on with the old files."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from namekeeper.pipeline.answers.warehouse import open_warehouse, table
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from tests.golden.questions import EXPECTED, JOURNALS, WAREHOUSE
from tests.golden.written_warehouse import sealed_segments, table_text
from tests.spark.running import few_kinds, run
from tests.support.journal.segments import write_segment

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow, pytest.mark.long]


def texts(spark: SparkSession, warehouse: Path) -> dict[str, str]:
    """Rows of every table as they are stored."""
    tables = open_warehouse(str(warehouse))
    return {
        name: table_text(row.asDict(recursive=True) for row in table(spark, tables, name).collect())
        for name in (*FACTS, *GOLD)
    }


def stored() -> dict[str, str]:
    return {name: (EXPECTED / "tables" / f"{name}.txt").read_text() for name in (*FACTS, *GOLD)}


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    for file in sealed_segments(JOURNALS):
        shutil.copy(file, folder)
    return folder


def test_spark_reads_the_stored_rows(spark: SparkSession) -> None:
    assert texts(spark, WAREHOUSE) == stored()


@pytest.mark.parametrize("little", [True, False], ids=["little", "much"])
def test_one_load_makes_the_stored_rows(
    spark: SparkSession, tmp_path: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch, *, little: bool
) -> None:
    """A run with much to do leaves its rows with Spark."""
    monkeypatch.setattr("namekeeper.pipeline.run.is_little", lambda *_: little)
    run(spark, tmp_path / "made", shipped)
    assert texts(spark, tmp_path / "made") == stored()


def test_a_load_goes_on_with_the_stored_files(spark: SparkSession, tmp_path: Path, shipped: Path) -> None:
    warehouse = tmp_path / "old"
    shutil.copytree(WAREHOUSE, warehouse)
    assert run(spark, warehouse, shipped).loads == [], "all segments are in the stored ledger"
    write_segment(shipped, few_kinds("golden-5_9876", 1_773_129_700_000, 6))
    assert len(run(spark, warehouse, shipped).loads) == 1
    found = open_warehouse(str(warehouse))
    assert table(spark, found, "kv").count() == table(spark, str(WAREHOUSE), "kv").count() + 6
