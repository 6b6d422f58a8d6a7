"""A run with little to do: few executions, and the same rows and files as any other run."""

from collections.abc import Collection
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.histories import HISTORIES
from namekeeper.pipeline.gold.tables import partition_column
from namekeeper.pipeline.store import few_rows
from namekeeper.pipeline.store.kept_rows import keep_rows
from namekeeper.pipeline.store.literals import values_of
from namekeeper.pipeline.store.parquet_store import ParquetStore
from namekeeper.pipeline.table import Table, columns, names_in
from tests.spark.running import leave_gold_out, run
from tests.support.history.histories import Record
from tests.support.journal.segments import write_segment
from tests.support.pipeline.quiet import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

GROUPS = next(history.table for history in HISTORIES if history.table.name == "broker_group_history")
TYPES = Table(
    "t", "", "", ("k",),
    columns("k bigint: Key.", "b boolean: A flag.", "i int: A number.", "d double: A share.",
            "n array<bigint>: Numbers.", "s array<string>: Texts."),
)  # fmt: skip


class Counts(NamedTuple):
    """What Spark did."""

    executions: int
    """Of SQL, the definitions of views among them."""
    running: int
    """Executions with jobs."""
    jobs: int


def counts(spark: SparkSession, after: int = -1) -> Counts:
    """Counts of the executions with a greater number than one."""
    store = spark._jsparkSession.sharedState().statusStore()
    listed = store.executionsList()
    found = [listed.apply(at) for at in range(listed.size())]
    jobs = [each.jobs().size() for each in found if each.executionId() > after]
    return Counts(len(jobs), sum(number > 0 for number in jobs), sum(jobs))


def last_execution(spark: SparkSession) -> int:
    listed = spark._jsparkSession.sharedState().statusStore().executionsList()
    return max((listed.apply(at).executionId() for at in range(listed.size())), default=-1)


def ship(folder: Path, records: Collection[Record]) -> None:
    write_segment(folder, sorted(records, key=lambda record: record["seq"]))


def test_a_stretch_without_changes_takes_few_executions(spark: SparkSession, tmp_path: Path) -> None:
    world = World()
    ship(tmp_path / "j", world.first)
    run(spark, tmp_path / "w", tmp_path / "j")
    world.pass_quietly(world.servers[0], 7)
    ship(tmp_path / "j", world.later())
    views = spark.catalog.listTables()
    before = last_execution(spark)
    assert len(run(spark, tmp_path / "w", tmp_path / "j").loads) == 1
    found = counts(spark, before)
    assert spark.catalog.listTables() == views, "a view is left"
    assert found.running <= 50, found
    assert found.executions <= 60, found
    assert found.jobs <= 110, found


def test_literals_are_the_rows_that_they_were_made_of(spark: SparkSession) -> None:
    types = {"t": "string", "n": "bigint", "i": "int", "f": "boolean"}
    texts = [
        "'",
        "\\'",
        "\\",
        "${spark.master}",
        ":zone",
        "?",
        "--",
        "\n",
        "\0",
        "",
        "\u00fc\U0001f600",
        None,
    ]
    least, greatest = -(2**63), 2**63 - 1
    rows = [
        (text, *others)
        for text, others in zip(texts, cycle([(least, -1, True), (greatest, 1, False), (None,) * 3]))
    ]
    table = pa.Table.from_pylist([dict(zip(types, row, strict=True)) for row in rows])
    found = spark.sql(values_of(table, types))
    assert [tuple(row) for row in found.collect()] == rows
    assert {field.name: field.dataType.simpleString() for field in found.schema} == types


def test_the_facts_of_a_small_run_take_one_execution(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_gold_out(monkeypatch)
    ship(tmp_path / "j", World().first)
    before = last_execution(spark)
    assert len(run(spark, tmp_path / "w", tmp_path / "j").loads) == 1
    assert counts(spark, before) == Counts(executions=1, running=1, jobs=1)


def numbers(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(count).selectExpr(
        "id AS k",
        "id > 1 AS b",
        "CAST(id AS int) AS i",
        "id / 2 AS d",
        "array(id, NULL) AS n",
        "array('x') AS s",
    )


def groups(spark: SparkSession) -> DataFrame:
    """Rows with a list of structs, in two partitions."""
    values = {
        "members": "array(named_struct('broker_id', id, 'broker_addr', 'h:1'))",
        "valid_to_day": "if(id < 2, 'open', '2026-03-01')",
        "broker_name": "if(id = 0, NULL, concat('b', id))",
    }
    named = (
        f"CAST({values.get(column.name, 'NULL')} AS {column.type}) AS `{column.name}`"
        for column in GROUPS.columns
    )
    return spark.range(3).selectExpr(*named)


@pytest.mark.parametrize("table", [TYPES, GROUPS], ids=lambda table: table.name)
def test_files_of_a_small_run_are_as_those_of_spark(
    spark: SparkSession, tmp_path: Path, table: Table
) -> None:
    rows = numbers(spark, 3) if table is TYPES else groups(spark)
    by = partition_column(table)
    found: dict[bool, tuple[pa.Schema, list[str | None], list[str]]] = {}
    for little in (False, True):
        store = ParquetStore(open_folder(str(tmp_path / str(little))))
        store.create("UTC")
        transaction = store.begin(little=little)
        transaction.replace(table, rows, by=by)
        files = transaction.paths(table)
        version = transaction.commit(b"{}")
        stored = sorted(map(str, store.reader().table(spark, table).collect()))
        schemas = {pq.read_schema(tmp_path / str(little) / file).remove_metadata() for file in files}
        values = sorted(part.value or "" for part in version.manifest.tables[table.name])
        assert len(schemas) == 1
        found[little] = schemas.pop(), values, stored
        assert all(file.endswith("/part-0.zstd.parquet") for file in files) == little
    assert found[True] == found[False]


def test_a_table_without_rows_is_there_after_a_small_run(spark: SparkSession, tmp_path: Path) -> None:
    store = ParquetStore(open_folder(str(tmp_path)))
    store.create("UTC")
    transaction = store.begin(little=True)
    transaction.replace(TYPES, numbers(spark, 0))
    assert transaction.is_there(TYPES)
    assert transaction.table(spark, TYPES).columns == names_in(TYPES)


def test_many_rows_of_a_small_run_stay_with_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, "MOST_VALUES", 2)
    folder = open_folder(str(tmp_path))
    assert isinstance(keep_rows(folder, 1, numbers(spark, 2), little=True), pa.Table)
    assert isinstance(keep_rows(folder, 1, numbers(spark, 3), little=True), DataFrame)
    store = ParquetStore(folder)
    store.create("UTC")
    transaction = store.begin(little=True)
    transaction.replace(TYPES, numbers(spark, 3))
    assert transaction.table(spark, TYPES).count() == 3
