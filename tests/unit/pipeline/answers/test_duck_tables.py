"""Files of a warehouse, as DuckDB reads them."""

import io
import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers import duck_tables as module
from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.errors import QueryError, WarehouseError
from namekeeper.pipeline.files.arrow_folder import ArrowFolder
from namekeeper.pipeline.files.folder import Folder, open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import DataFile, Manifest, commit_manifest
from namekeeper.pipeline.store.parquet_store import ParquetReader
from tests.support.pipeline.file_warehouse import FileWarehouse, tables_at

DUCK_TYPES = {"bigint": "BIGINT", "string": "VARCHAR"}
ROW = {
    "day": "2026-03-01",
    "cluster": "c",
    "topic": "t",
    "writable_ms": 1,
    "unwritable_ms": 0,
    "no_route_ms": 0,
}


def manifest_of(folder: Path, *rows: dict[str, object]) -> Manifest:
    """A warehouse with files of one table, each with one row."""
    parts = []
    for number, row in enumerate(rows):
        path = f"tables/topic_availability_daily/partition=2026/{number}.parquet"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([row]), folder / path)
        parts.append(DataFile(path, 1))
    return Manifest(1, 2, "UTC", "", {"topic_availability_daily": parts})


@pytest.mark.parametrize("name", ["plain", "it's [1] * ?{x}"])
def test_a_folder_may_have_any_name_and_a_file_more_columns_than_the_table(tmp_path: Path, name: str):
    folder = tmp_path / name
    manifest = manifest_of(folder, {**ROW, "unknown_ms": 0, "of_another_table": 5}, {**ROW, "unknown_ms": 0})
    (tmp_path / "it's 1 x ?{x}").mkdir()
    commit_manifest(open_folder(str(folder)), manifest)
    (found,) = daily.topic_availability(tables_at(str(folder))).rows
    assert found["writable_ms"] == 2


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "nothing"])
def test_what_is_no_regular_file_is_one_line_and_waits_for_nobody(tmp_path: Path, kind: str):
    """DuckDB waited for the other end of a pipe for ever."""
    manifest = manifest_of(tmp_path, {**ROW, "unknown_ms": 0})
    ((part,),) = manifest.tables.values()
    path = tmp_path / part.path
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    tables = DuckTables(ParquetReader(folder_of(tmp_path, is_local=True), manifest))
    with pytest.raises(WarehouseError, match=r"^[^\n]+ can't be read: [^\n]+$"):
        daily.topic_availability(tables)


def test_more_data_files_than_duckdb_can_keep_are_refused_unread(tmp_path: Path, monkeypatch):
    """2,000 files in each of 46 tables took 2.4 GiB and more than two minutes."""
    folder = folder_of(tmp_path, is_local=True)
    parts = tuple(DataFile(f"tables/t/{number}.parquet", 1) for number in range(3))
    manifest = Manifest(1, 2, "UTC", "", {"topic_availability_daily": parts})
    monkeypatch.setattr(module, "FILES_LIMIT", 2)
    with pytest.raises(
        WarehouseError, match=r"has 3 data files .* at most 2 are read: build a new warehouse"
    ):
        daily.topic_availability(DuckTables(ParquetReader(folder, manifest)))
    monkeypatch.setattr(module, "FILES_LIMIT", 3)
    with pytest.raises(WarehouseError, match="No such file"):
        daily.topic_availability(DuckTables(ParquetReader(folder, manifest)))


def test_a_time_zone_that_nobody_knows_is_one_line(tmp_path: Path):
    manifest = manifest_of(tmp_path, {**ROW, "unknown_ms": 0})._replace(report_time_zone="No/Where")
    tables = DuckTables(ParquetReader(folder_of(tmp_path, is_local=True), manifest))
    with pytest.raises(WarehouseError, match=r"has days of 'No/Where', which is no time zone here$"):
        tables.select("SELECT 1", {})


def test_files_of_other_file_systems_come_through_pyarrow(tmp_path: Path):
    manifest = manifest_of(
        tmp_path, {**ROW, "unknown_ms": 0}, {**ROW, "unknown_ms": 0, "of_another_table": 5}
    )
    folder = ArrowFolder("s3://bucket/warehouse", LocalFileSystem(), str(tmp_path))
    (found,) = daily.topic_availability(DuckTables(ParquetReader(folder, manifest))).rows
    assert found["writable_ms"] == 2


def folder_of(path: Path, *, is_local: bool) -> Folder:
    """A folder that DuckDB reads itself, or one that pyarrow reads for it."""
    if is_local:
        return open_folder(str(path))
    return ArrowFolder("s3://bucket/warehouse", LocalFileSystem(), str(path))


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize(
    "later", [[], [{**ROW, "topic": "u", "unknown_ms": 7}]], ids=["alone", "and a later one"]
)
def test_a_column_that_an_earlier_version_did_not_write_is_null(tmp_path: Path, later, *, is_local: bool):
    manifest = manifest_of(tmp_path, ROW, *later)
    tables = DuckTables(ParquetReader(folder_of(tmp_path, is_local=is_local), manifest))
    found = tables.select("SELECT topic, unknown_ms FROM topic_availability_daily ORDER BY topic", {})
    assert list(found) == [("t", None), *(("u", 7) for _ in later)]


@pytest.mark.parametrize("is_local", [True, False])
def test_a_user_is_shown_tables_and_views_of_the_warehouse_and_nothing_else(
    tmp_path: Path, *, is_local: bool
):
    manifest = manifest_of(tmp_path, ROW)
    tables = DuckTables(ParquetReader(folder_of(tmp_path, is_local=is_local), manifest))
    assert [name for (name,) in tables.select("SHOW TABLES", {})] == sorted([*ENTRY_VIEWS, *GOLD, *FACTS])
    described = {row[0]: row[1] for row in tables.select("DESCRIBE topic_availability_daily", {})}
    table = GOLD["topic_availability_daily"]
    assert described == {column.name: DUCK_TYPES[column.type] for column in table.columns}


def test_a_file_that_is_gone_is_an_error_that_says_what_to_do(tmp_path: Path):
    manifest = manifest_of(tmp_path, {**ROW, "unknown_ms": 0})
    commit_manifest(open_folder(str(tmp_path)), manifest)
    (tmp_path / manifest.tables["topic_availability_daily"][0].path).unlink()
    with pytest.raises(WarehouseError, match=r"can't be read: .*ask again"):
        daily.topic_availability(tables_at(str(tmp_path)))


def test_a_table_that_nothing_was_written_to_has_no_rows(tmp_path: Path):
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, "UTC", "", {}))
    assert daily.topic_availability(tables_at(str(tmp_path))) == ([], 0)


def test_nulls_are_where_spark_puts_them(warehouse: FileWarehouse):
    found = [row["topic"] for row in daily.drift(warehouse.tables).rows]
    assert None in found
    buckets = [row["bucket"] for row in daily.unknown_topics(warehouse.tables).rows]
    assert None in buckets


def test_a_bound_that_is_left_out_bounds_nothing(warehouse: FileWarehouse):
    """People pass those that a query had when they wrote their programs; newer ones came."""
    tables = warehouse.tables
    bounds = {"first_day": None, "last_day": None, "label": None}
    assert tables.ask("availability", {}) == tables.ask("availability", bounds)
    with pytest.raises(KeyError, match="least_ms"):
        tables.ask("topic_availability", bounds)


def select(folder: Path, sql: str) -> list[tuple[object, ...]]:
    manifest = manifest_of(folder, {**ROW, "unknown_ms": 0})
    return list(DuckTables(ParquetReader(open_folder(str(folder)), manifest)).select(sql, {}))


def test_duckdb_has_a_limit_of_memory_of_its_own(tmp_path: Path):
    ((limit,),) = select(tmp_path, "SELECT current_setting('memory_limit')")
    assert limit == f"{module.MEMORY_BYTES / 2**30:.1f} GiB"


def test_a_query_that_needs_more_works_on_the_disk_or_ends_with_an_error(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(module._SETTINGS, "memory_limit", "50MiB")
    sorted_rows = "SELECT hash(i) AS h, repeat('x', 100) AS x FROM range(1000000) AS t(i) ORDER BY h"
    assert select(tmp_path, f"SELECT count(*), max(h) > min(h) FROM ({sorted_rows} LIMIT 900000)") == [
        (900_000, True)
    ]
    with pytest.raises(QueryError, match=r"(?i)memory"):
        select(tmp_path, "SELECT length(string_agg(repeat('x', 1000), '')) FROM range(1000000)")


class Watched:
    """A connection that counts how often a query was interrupted."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.interrupts = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)

    def execute(self, *words: object) -> "Watched":
        self._connection.execute(*words)
        return self

    def interrupt(self) -> None:
        self.interrupts += 1
        self._connection.interrupt()


ENDLESS = "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i FROM r"


@pytest.fixture
def watched(tmp_path: Path) -> tuple[DuckTables, Watched]:
    tables = DuckTables(ParquetReader(open_folder(str(tmp_path)), manifest_of(tmp_path)))
    tables._connection = Watched(tables._connection)
    return tables, tables._connection


def test_a_query_ends_when_the_rest_of_its_rows_is_not_wanted(watched: tuple[DuckTables, Watched]):
    tables, connection = watched
    rows = iter(tables.select(ENDLESS, {}))
    assert next(rows) == (1,)
    assert connection.interrupts == 0
    rows.close()
    assert connection.interrupts == 1
    assert list(tables.select("SELECT 1", {})) == [(1,)]
    assert connection.interrupts == 1


def test_a_query_ends_when_the_reader_of_its_stream_leaves(watched: tuple[DuckTables, Watched]):
    class Left(io.BytesIO):
        def write(self, _data: object) -> int:
            raise BrokenPipeError

    tables, connection = watched
    with pytest.raises(BrokenPipeError):
        tables.write_arrow(ENDLESS, {}, Left())
    assert connection.interrupts == 1


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("FROM incident\nWHERE", 'Parser Error: syntax error at or near "WHERE" (line 2)'),
        (
            "FROM incidenz",
            'Catalog Error: Table with name incidenz does not exist! Did you mean "incident"? (line 1)',
        ),
        ("SELECT error('a\nLINE 1: b')", "Invalid Input Error: a LINE 1: b"),
    ],
)
def test_an_error_of_a_query_is_one_line(tmp_path: Path, query: str, error: str):
    with pytest.raises(QueryError) as caught:
        select(tmp_path, query)
    assert str(caught.value) == error
