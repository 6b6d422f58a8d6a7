"""The pipeline's SQL on DuckDB: the same text, another engine, in milliseconds."""

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from namekeeper.pipeline.answers.warehouse import any_table
from namekeeper.pipeline.duck_sql import MACROS, duck_ddl, duck_query
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.plan import NewRecords, RecomputeRange
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import DataFile, Manifest, commit_manifest
from namekeeper.pipeline.store.parquet_store import ParquetReader
from namekeeper.pipeline.table import Table, names_in
from tests.support.history.facts import fact_tables

__all__ = ["Duck", "DuckQueries", "by_key"]

_OF_SPARK = {
    "broker_group_recorded": """
        SELECT * EXCLUDE (broker_addrs), list_sort(list_transform(map_entries(broker_addrs),
            lambda e: {'broker_id': CAST(e.key AS BIGINT), 'broker_addr': e.value})) AS members
        FROM broker_group""",
}
"""Queries that are written for Spark alone."""


def by_key(name: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a gold table in the order of its key."""
    return sorted(rows, key=lambda row: [(row[key] is not None, row[key]) for key in GOLD[name].key])


_numbers = count(1)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """The database of this process, with the macros: another one would take 25 ms, a schema takes one."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for macro in MACROS:
        connection.execute(f"CREATE MACRO {macro}")
    return connection


@lru_cache(2048)
def _parsed(sql: str) -> duckdb.Statement:
    """A statement: the same ones come with every run."""
    (statement,) = _database().extract_statements(sql)
    return statement


def _drop(connection: duckdb.DuckDBPyConnection, schema: str) -> None:
    connection.execute(f"DROP SCHEMA {schema} CASCADE")
    connection.close()


class DuckQueries:
    """Tables in memory, and queries that make others of them."""

    def __init__(self) -> None:
        schema = f"duck_{next(_numbers)}"
        self._connection = _database().cursor()
        self._connection.execute(f"CREATE SCHEMA {schema}")
        self._connection.execute(f"SET search_path = '{schema},main'")
        # With few rows it takes longer than what it saves.
        self._connection.execute("PRAGMA disable_optimizer")
        weakref.finalize(self, _drop, self._connection, schema)

    def _execute(self, sql: str, args: object = None) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(_parsed(sql), args)

    def define(self, name: str, sql: str, args: Mapping[str, Any], *, keep: bool = False) -> None:
        """Make a table of what a query finds."""
        sql, used = duck_query(_OF_SPARK.get(name, sql), args)
        self._execute(f"CREATE OR REPLACE TABLE {name} AS {sql}", used)

    def put(self, name: str, ddl: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Make a small table."""
        self._execute(f"CREATE OR REPLACE TABLE {name} ({duck_ddl(ddl)})")
        if rows:
            columns = [pa.array(column) for column in zip(*rows, strict=True)]
            table = pa.table(columns, names=[f"c{number}" for number in range(len(columns))])
            self._connection.register("given", table)
            self._execute(f"INSERT INTO {name} SELECT * FROM given")
            self._connection.unregister("given")

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table."""
        found = self._execute(f"SELECT * FROM {name}")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def columns(self, name: str) -> list[str]:
        """The names of the columns of a table."""
        return [row[0] for row in self._execute(f"DESCRIBE {name}").fetchall()]


class Duck(DuckQueries):
    """A warehouse in memory, which does what `Engine` asks for."""

    def __init__(self, zone: str = "UTC", *, soon: bool = False) -> None:
        super().__init__()
        self.zone = zone
        self._soon = soon
        self.load_id = 0
        self.written: dict[str, set[str] | None] = {}
        """Gold table -> partitions that the last run wrote; None: all."""
        for table in (*FACTS.values(), *GOLD.values()):
            self._execute(f"CREATE TABLE stored_{table.name} ({duck_ddl(table.ddl)})")

    def load(self, records: Iterable[dict[str, Any]]) -> list[NewRecords]:
        """Take records into the facts as the next load; returns what is new."""
        self.load_id += 1
        self.written = {}
        for name, table in fact_tables(records, self.load_id).items():
            self._connection.register("arrived", table)
            columns = ", ".join(f'"{column}"' for column in table.column_names)
            self._execute(f"INSERT INTO stored_{name} SELECT {columns} FROM arrived")
            self._connection.unregister("arrived")
        return self._new_records()

    def read(self, reader: ParquetReader, tables: Iterable[str]) -> list[NewRecords]:
        """Take tables from the files of a warehouse, as one load; returns what is new."""
        self.load_id += 1
        for table in map(any_table, tables):
            if paths := [f"{reader.folder.path}/{path}" for path in reader.paths(table)]:
                one_load = f"REPLACE ({self.load_id} AS load_id)" if table.name in FACTS else ""
                self._execute(
                    f"INSERT INTO stored_{table.name} BY NAME SELECT * {one_load}"
                    " FROM read_parquet(?, hive_partitioning = false, union_by_name = true)",
                    [paths],
                )
        return self._new_records()

    def _new_records(self) -> list[NewRecords]:
        found = self._execute(
            "SELECT namesrv, boot, min(seq), max(seq), min(ts) FROM stored_events WHERE load_id = ?"
            " GROUP BY namesrv, boot",
            [self.load_id],
        )
        return [NewRecords(*row) for row in found.fetchall()]

    def concurrently(self, steps: Sequence[Callable[[], Any]]) -> list[Any]:
        """Do one step after the other."""
        return [step() for step in steps]

    @contextmanager
    def in_background(self, step: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
        """Do a step when it is waited for, or at the end; or first of all."""
        done = [step()] if self._soon else []

        def wait() -> Any:
            if not done:
                done.append(step())
            return done[0]

        yield wait
        wait()

    def show(self, name: str, table: Table) -> None:
        """Name the rows of a gold table."""
        self._execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM stored_{table.name}")

    def is_there(self, table: Table) -> bool:
        """Whether a table has rows."""
        return bool(self.rows(f"stored_{table.name}"))

    def show_facts(self, ranges: Sequence[RecomputeRange]) -> None:
        """Name every fact table."""
        for name, table in FACTS.items():
            self.show(name, table)

    def show_added(self, name: str, table: Table) -> None:
        """Name the rows of the last load."""
        self._execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM stored_{table.name} WHERE load_id = {self.load_id}"
        )

    def replace(
        self, table: Table, name: str, *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Write partitions of a gold table."""
        stored = f"stored_{table.name}"
        if values is None:
            self._execute(f"DELETE FROM {stored}")
        else:
            strange = self._execute(
                f'SELECT DISTINCT "{by}" FROM {name} WHERE NOT list_contains(?, "{by}")', [list(values)]
            ).fetchall()
            assert not strange, f"{table.name}: rows of partitions that are not replaced: {strange}"
            self._execute(f'DELETE FROM {stored} WHERE list_contains(?, "{by}")', [list(values)])
        columns = ", ".join(f'"{column}"' for column in names_in(table))
        self._execute(f"INSERT INTO {stored} SELECT {columns} FROM {name}")
        days = self.written.get(table.name) or set()
        self.written[table.name] = None if values is None else {*days, *values}

    def insert(self, name: str, select: str) -> None:
        """Add the rows of a query to a stored table, by the names of their columns."""
        self._execute(f"INSERT INTO stored_{name} BY NAME {select}")

    def write_warehouse(self, folder: Path) -> str:
        """Write all tables as a warehouse of Parquet files, each table in one file; returns its URI."""
        parts = {}
        for name in (*FACTS, *GOLD):
            if self.rows(f"(SELECT 1 FROM stored_{name} LIMIT 1)"):
                path = f"tables/{name}/1-0a1b2c3d/part-0.parquet"
                (folder / path).parent.mkdir(parents=True)
                self._execute(f"COPY stored_{name} TO '{folder / path}'")
                parts[name] = [DataFile(path, (folder / path).stat().st_size)]
        commit_manifest(open_folder(str(folder)), Manifest(1, self.load_id + 1, self.zone, "", parts))
        return str(folder)

    @contextmanager
    def harmed(self, *harms: str) -> Iterator[None]:
        """Do some harm to the stored tables, and undo it, and what follows, in the end."""
        self._execute("BEGIN")
        try:
            for sql in harms:
                self._execute(sql)
            yield
        finally:
            self._execute("ROLLBACK")

    def gold(self, name: str) -> list[dict[str, Any]]:
        """The rows of a gold table, by its key."""
        return by_key(name, self.rows(f"stored_{name}"))
