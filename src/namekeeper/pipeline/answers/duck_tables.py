"""The queries of the answers on DuckDB, which reads Parquet files within milliseconds and needs no Java."""

import os
import re
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from stat import S_ISREG
from typing import Any, BinaryIO

import duckdb

from namekeeper.pipeline.answers.queries import NO_BOUNDS, Answer, query
from namekeeper.pipeline.answers.warehouse import any_table
from namekeeper.pipeline.duck_sql import MACROS, duck_ddl, duck_query
from namekeeper.pipeline.entry.readable import READABLE_VIEWS
from namekeeper.pipeline.entry.views import ENTRY_VIEWS, sql_of_view
from namekeeper.pipeline.errors import QueryError, WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.parquet_store import ParquetReader
from namekeeper.pipeline.table import Column, Table

__all__ = ["DuckTables", "FoundRows"]

MEMORY_BYTES = 2 << 30
"""Memory of DuckDB; by default it takes four fifths of the machine's. A query that needs more works on the
disk, or ends with an error."""
FILES_LIMIT = 40_000
"""Data files of all tables that a process reads. DuckDB keeps about 50 KB for each, which `MEMORY_BYTES`
does not count, and opens each for every query. Tables of 3 years of days have 26,000."""
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Spark's order.
    "default_null_order": "nulls_first_on_asc_last_on_desc",
    "memory_limit": f"{MEMORY_BYTES >> 20}MiB",
    "autoinstall_known_extensions": "false",
    "temp_directory": os.path.join(tempfile.gettempdir(), f"namekeeper-{os.getpid()}"),  # noqa: PTH118
}
_NAME = re.compile(r"\w+")
_BATCH = 1_000
"""Rows that are fetched at a time."""
_QUOTED_QUERY = re.compile(r"^LINE (\d+): .*\n *\^+$", re.MULTILINE)
"""A line of the query, with a mark below it."""


class FoundRows:
    """The rows that a user's query finds, fetched as they are needed."""

    def __init__(self, found: duckdb.DuckDBPyConnection) -> None:
        self._found = found
        self.columns = [column[0] for column in found.description]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows that were not fetched yet.

        Raises:
            QueryError: one of them can't be computed.
        """
        with _running_query(self._found):
            while batch := self._found.fetchmany(_BATCH):
                yield from batch


class DuckTables:
    """Tables of Parquet files that DuckDB reads; they are `AnswerTables`."""

    def __init__(self, reader: ParquetReader) -> None:
        self._reader = reader
        self.report_time_zone = reader.report_time_zone
        self._connection = duckdb.connect(config=_SETTINGS)
        self._is_locked = False
        self._shown: set[str] = set()
        self._files = 0
        for macro in MACROS:
            self._connection.execute(f"CREATE MACRO {macro}")

    def ask(self, name: str, args: Mapping[str, Any], *, limit: int | None = None) -> Answer:
        """Run a query."""
        view = query(name)
        sql, used = duck_query(view.sql, {**NO_BOUNDS, **args})
        with self._errors_of_reading():
            self._show_all(view.reads)
            found = self._connection.execute(sql if limit is None else f"{sql} LIMIT {limit}", used)
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
            return Answer(rows, self._count(sql, used) if len(rows) == limit else len(rows))

    def select(self, sql: str, args: Mapping[str, str]) -> FoundRows:
        """Run one query of a user, which may read all fact and gold tables, entry views and readable views.

        Args:
            sql: in the language of DuckDB. `timestamp_millis` makes a timestamp of a time, in the time zone
                of the warehouse's days.
            args: values of its parameters, as in `$topic`.

        Raises:
            QueryError: it is not one query that only reads, or it can't be run.
            WarehouseError: the tables can't be read.
        """
        self._prepare(sql)
        with _running_query(self._connection):
            return FoundRows(self._connection.execute(sql, args))

    def write_arrow(self, sql: str, args: Mapping[str, str], sink: BinaryIO) -> None:
        """Write the rows of a query of a user as a stream of Arrow.

        Raises:
            QueryError: it is not one query that only reads, or it can't be run.
            WarehouseError: the tables can't be read.
        """
        import pyarrow as pa

        self._prepare(sql)
        with _running_query(self._connection):
            reader = pa.RecordBatchReader.from_stream(self._connection.sql(sql, params=args))
            with pa.ipc.new_stream(sink, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)

    def _prepare(self, sql: str) -> None:
        with _running_query(self._connection):
            statements = self._connection.extract_statements(sql)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise QueryError(
                "this is not one query that only reads: give one SELECT, FROM, WITH, DESCRIBE, SUMMARIZE or"
                " SHOW"
            )
        with self._errors_of_reading():
            self._show_all([*GOLD, *FACTS])
            # DuckDB opens all files of a view's tables, so only those of the query are made.
            self._show_views([*ENTRY_VIEWS, *READABLE_VIEWS.keys() & set(_NAME.findall(sql.lower()))])
        self._lock()

    def _lock(self) -> None:
        """Let queries read the files of the warehouse only, and nothing write.

        A SELECT can call functions that read any file, write logs, or look into variables of this process.
        """
        if self._is_locked:
            return
        folder = self._reader.folder
        allowed = [f"{folder.path}/"] if isinstance(folder, LocalFolder) else []
        try:
            self._connection.execute(f"SET TimeZone = '{self.report_time_zone}'")
        except duckdb.Error:
            raise WarehouseError(
                f"{folder.uri} has days of {self.report_time_zone!r}, which is no time zone here"
            ) from None
        self._connection.execute(f"SET allowed_directories = {_list_of(allowed)}")
        for setting in ("enable_external_access", "python_enable_replacements"):
            self._connection.execute(f"SET {setting} = false")
        self._connection.execute("SET lock_configuration = true")
        self._is_locked = True

    def columns(self, name: str, args: Mapping[str, Any]) -> list[str]:
        """The columns of what a query gives."""
        sql, used = duck_query(query(name).sql, {**NO_BOUNDS, **args})
        self._show_all(query(name).reads)
        return [row[0] for row in self._connection.execute(f"DESCRIBE {sql}", used).fetchall()]

    @contextmanager
    def _errors_of_reading(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, OSError) as error:
            cause = str(error).strip().partition("\n")[0]
            raise WarehouseError(
                f"{self._reader.folder.uri} can't be read: {cause}; if a run of the pipeline has replaced its"
                " files meanwhile, ask again"
            ) from error

    def _show_all(self, names: Iterable[str]) -> None:
        tables = [any_table(name) for name in sorted(set(names) - self._shown)]
        self._count_files(sum(len(self._reader.paths(table)) for table in tables))
        for table in tables:
            self._show(table)

    def _count(self, sql: str, args: Mapping[str, Any]) -> int:
        found = self._connection.execute(f"SELECT count(*) FROM ({sql})", args).fetchone()  # noqa: S608 - ours
        assert found is not None
        return int(found[0])

    def _show(self, table: Table) -> None:
        """Give a table its name."""
        folder = self._reader.folder
        paths = [f"{folder.path}/{path}" for path in self._reader.paths(table)]
        if isinstance(folder, LocalFolder):
            _refuse_other_files(paths)
        if not paths:
            # No base table: a query could insert rows, which the next one would see.
            self._connection.execute(f'CREATE VIEW "{table.name}" AS {_no_rows(table)}')
        elif isinstance(folder, LocalFolder):
            self._show_files(table, paths)
        else:
            # A registered object would be a view of its own, which SHOW TABLES lists.
            rows = self._connection.from_arrow(self._dataset(table, folder, paths))
            rows.create_view(table.name)
        self._shown.add(table.name)

    def _show_views(self, names: Iterable[str]) -> None:
        """Give views their names; all tables have theirs."""
        zone = self.report_time_zone.replace("'", "''")
        for name in [name for name in names if name not in self._shown]:
            sql, _ = duck_query(sql_of_view(name).replace(":zone", f"'{zone}'"), {})
            self._connection.execute(f'CREATE VIEW "{name}" AS {sql}')
            self._shown.add(name)

    def _count_files(self, added: int) -> None:
        """Count data files before they are opened.

        Raises:
            WarehouseError: there are too many, with those that were opened before.
        """
        if self._files + added > FILES_LIMIT:
            raise WarehouseError(
                f"{self._reader.folder.uri} has {self._files + added:,} data files in the tables of this"
                f" question, and without Spark at most {FILES_LIMIT:,} are read: build a new warehouse from"
                " the journals in one run, which makes fewer files, or ask Spark, as in"
                " docs/howto/ask-your-own-question.md"
            )
        self._files += added

    def _show_files(self, table: Table, paths: Iterable[str]) -> None:
        """Give files the name of their table; a column that an earlier version did not write is null.

        The files of today's version have all columns. To read their schemas first takes as long as the view.
        """
        listed = ", ".join(f"'{_literal(path)}'" for path in paths)
        files = f"read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
        try:
            self._create_view(table, files, {column.name for column in table.columns})
        except duckdb.BinderException:
            found = self._connection.execute(f"DESCRIBE SELECT * FROM {files}").fetchall()  # noqa: S608 - quoted
            self._create_view(table, files, {row[0] for row in found})

    def _create_view(self, table: Table, files: str, there: Container[str]) -> None:
        """Give the columns that are there the name of their table; the others are null."""
        columns = ", ".join(
            f'"{column.name}"' if column.name in there else _null(column) for column in table.columns
        )
        self._connection.execute(
            f'CREATE VIEW "{table.name}" AS SELECT {columns} FROM {files}'  # noqa: S608 - quoted
        )

    def _dataset(self, table: Table, folder: Folder, paths: Iterable[str]) -> object:
        """Files of any file system that pyarrow knows; DuckDB passes its filters on to pyarrow."""
        import pyarrow as pa
        from pyarrow import dataset

        from namekeeper.pipeline.files.arrow_folder import ArrowFolder

        assert isinstance(folder, ArrowFolder)
        # Without a schema pyarrow takes that of the first file, which may lack columns of later ones.
        schema = pa.RecordBatchReader.from_stream(self._connection.sql(_no_rows(table))).schema
        found: object = dataset.dataset(
            list(paths), schema=schema, format="parquet", filesystem=folder.filesystem
        )
        return found


def _refuse_other_files(paths: Iterable[str]) -> None:
    """Refuse what is no regular file: DuckDB would wait for the other end of a pipe.

    Raises:
        OSError: one is none, or is not there.
    """
    for path in paths:
        if not S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a path as it is
            raise OSError(f"{path} is not a regular file")


@contextmanager
def _running_query(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Name the errors of a user's query, and end the query if the rest of its rows is not wanted.

    Raises:
        QueryError: the query has an error, which is one line.
    """
    try:
        yield
    except duckdb.Error as error:
        raise QueryError(_one_line(str(error))) from error
    except BaseException:
        # DuckDB's threads compute the rest, and closing the connection waits for them.
        connection.interrupt()
        raise


def _one_line(text: str) -> str:
    """An error of DuckDB with the number of the line, without its text."""
    return " ".join(_QUOTED_QUERY.sub(r"(line \1)", text).split())


def _list_of(texts: Sequence[str]) -> str:
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
    return f"[{quoted}]"


def _literal(path: str) -> str:
    """A path within quotes; characters of DuckDB's patterns are escaped."""
    escaped = "".join(f"[{char}]" if char in "*?[" else char for char in path)
    return escaped.replace("'", "''")


def _no_rows(table: Table) -> str:
    """A query with the columns of a table."""
    return f"SELECT {', '.join(map(_null, table.columns))} WHERE false"


def _null(column: Column) -> str:
    return f'CAST(NULL AS {duck_ddl(column.type)}) AS "{column.name}"'
