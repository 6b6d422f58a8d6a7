"""Named queries on Spark over the tables of a warehouse."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, count
from threading import Lock
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.gold.sql_file import names_read, with_names
from namekeeper.pipeline.gold.sql_text import Views
from namekeeper.pipeline.store.kept_rows import in_this_process
from namekeeper.pipeline.store.literals import Types, are_literals, arrow_schema, values_of
from namekeeper.pipeline.store.table_store import TableReader
from namekeeper.pipeline.table import Table, types_of

__all__ = ["DAY_OF", "SparkViews"]

_PARAMETER = re.compile(r":([a-z_]+)")
_COMMENT = re.compile(r"--.*")

DAY_OF = """
CREATE OR REPLACE TEMPORARY FUNCTION day_of(ms BIGINT, zone STRING) RETURNS STRING
RETURN date_format(from_utc_timestamp(timestamp_millis(ms), zone), 'yyyy-MM-dd')
"""
"""Makes the function that gives the day of an instant."""


class _GivenRows:
    """Rows that are there: those of a table, of a query that was computed, or values."""

    def __init__(
        self, name: str, types: Types, make: Callable[[], DataFrame | pa.Table], table: Table | None = None
    ) -> None:
        self.name = name
        self.table = table
        self.is_current = True
        """Whether the table still has these rows."""
        self._types = types
        self._make = make

    @cached_property
    def made(self) -> DataFrame | pa.Table:
        """The rows, made when they are first needed; a table has few rows."""
        return self._make()

    @property
    def is_made(self) -> bool:
        """Whether a query has read them."""
        return "made" in vars(self)

    @cached_property
    def sql(self) -> str | None:
        """Few rows as a query; None: they are a DataFrame."""
        return values_of(self.made, self._types) if isinstance(self.made, pa.Table) else None


class _Query:
    """A query that is computed as a part of the statements that need it."""

    def __init__(
        self, name: str, sql: str, args: Mapping[str, Any], reads: "Mapping[str, _GivenRows | _Query]"
    ) -> None:
        self.name = name
        self.sql = sql
        self.args = args
        self.reads = reads
        """The sources that its names stand for: a name may stand for another one later."""


class SparkViews(Views):
    """Queries by name; the rows of some are computed at once and kept.

    For Spark each temporary view is an execution, with an analysis of its own. So only many rows become a
    view of the session, when a statement needs them. Few rows, and queries, become a part of the statement.
    """

    def __init__(self, spark: SparkSession, tables: TableReader) -> None:
        self.zone = tables.report_time_zone
        self.spark = spark
        self.tables = tables
        self._sources: dict[str, _GivenRows | _Query] = {}
        self._in_session: dict[str, _GivenRows] = {}
        """The views of the session."""
        self._naming = Lock()
        spark.sql(DAY_OF)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def define(self, name: str, sql: str, args: Mapping[str, Any], *, keep: bool = False) -> None:
        """Give a query a name."""
        plain = _COMMENT.sub("", sql)
        used = {key: args[key] for key in _PARAMETER.findall(plain)}
        with self._naming:
            reads = {read: self._sources[read] for read in sorted(names_read(sql)) if read in self._sources}
            for source in reads.values():
                if isinstance(source, _GivenRows):
                    _ = source.made  # of the table as it is now
            query = _Query(name, plain, used, reads)
        if keep:
            rows = self._computed(query)
            kept = self.kept(rows)
            types = {field.name: field.dataType.simpleString() for field in rows.schema}
            self._name(_GivenRows(name, types, lambda: self._as_rows(kept, types)))
        else:
            self._name(query)

    def kept(self, rows: DataFrame) -> DataFrame | pa.Table:
        """The rows of a query, computed now and kept; a table has few rows."""
        return in_this_process(rows)

    def put(self, name: str, ddl: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Make a small table of values."""
        types = dict(column.split() for column in ddl.split(","))
        columns = zip(*rows, strict=True) if rows else [()] * len(types)
        table = pa.table([*map(pa.array, columns)], [*types]).cast(arrow_schema(types))
        self._name(_GivenRows(name, types, lambda: self._as_rows(table, types)))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table."""
        with self._naming:
            source = self._sources[name]
        if isinstance(source, _GivenRows) and isinstance(source.made, pa.Table):
            few: list[dict[str, Any]] = source.made.to_pylist()
            return few
        return [row.asDict(recursive=True) for row in self.frame(name).collect()]

    def show(self, name: str, table: Table) -> None:
        """Make the present rows of a table readable by its name."""
        self.show_rows(name, table, partial(self.present, table))

    def present(self, table: Table) -> DataFrame | pa.Table:
        """The rows that a table has now; a table of Arrow has few rows."""
        few = self.tables.few(table)
        return self.tables.table(self.spark, table) if few is None else few

    def show_rows(self, name: str, table: Table, rows: Callable[[], DataFrame | pa.Table]) -> None:
        """Make rows of a table readable by a name; `rows` is called if a query reads them."""
        there = self._sources.get(name)
        if not (isinstance(there, _GivenRows) and there.table is table and there.is_current):
            self._name(_GivenRows(name, types_of(table), rows, table))

    def forget(self, table: Table) -> None:
        """Take away the names of the rows of a table that no query has read: it has other rows now."""
        with self._naming:
            for name, source in [*self._sources.items()]:
                if isinstance(source, _GivenRows) and source.table is table:
                    source.is_current = False
                    if not source.is_made:
                        del self._sources[name]

    def frame(self, name: str) -> DataFrame:
        """The rows that have a name."""
        with self._naming:
            source = self._sources[name]
        if isinstance(source, _Query):
            return self._computed(source)
        return self.spark.sql(source.sql) if source.sql else source.made

    def close(self) -> None:
        """Drop the temporary views."""
        for name in self._in_session:
            self.spark.catalog.dropTempView(name)
        self._in_session.clear()
        self._sources.clear()

    def _name(self, source: _GivenRows | _Query) -> None:
        with self._naming:
            self._sources[source.name] = source

    def _as_rows(self, rows: DataFrame | pa.Table, types: Types) -> DataFrame | pa.Table:
        if not isinstance(rows, pa.Table) or are_literals(rows, types):
            return rows
        # From an Arrow table Spark makes a relation whose size it knows: joins with it are broadcast.
        return self.spark.createDataFrame(rows, ", ".join(f"`{name}` {kind}" for name, kind in types.items()))

    def _computed(self, query: _Query) -> DataFrame:
        with self._naming:
            sql, args = self._statement(query)
        return self.spark.sql(sql, args=args)

    def _statement(self, query: _Query) -> tuple[str, dict[str, Any]]:
        """A query with all queries that it needs, and the parameters of the statement."""
        names: dict[_GivenRows | _Query, str] = {}
        parts: list[str] = []
        args: dict[str, Any] = {}

        def add(source: _GivenRows | _Query) -> str:
            if source not in names:
                if isinstance(source, _GivenRows) and source.sql is None:
                    names[source] = self._view_of(source, names.values())
                    return names[source]
                sql = source.sql
                if isinstance(source, _Query):
                    read = {name: add(needed) for name, needed in source.reads.items()}
                    sql = _with_values(with_names(source.sql, read), source.args, args)
                names[source] = _unused(source.name, {*names.values(), *self._in_session})
                parts.append(f"{names[source]} AS (\n{sql}\n)")
            return names[source]

        name = add(query)
        return "WITH " + ",\n".join(parts) + f"\nSELECT * FROM {name}", args

    def _view_of(self, rows: _GivenRows, used: Iterable[str]) -> str:
        """The view of rows in the session, which has the name of no part of the statement."""
        for name, there in self._in_session.items():
            if there is rows:
                return name
        name = _unused(rows.name, {*used, *self._in_session})
        rows.made.createOrReplaceTempView(name)
        self._in_session[name] = rows
        return name


def _unused(name: str, used: Collection[str]) -> str:
    return next(each for each in chain([name], (f"{name}_{n}" for n in count(2))) if each not in used)


def _with_values(sql: str, values: Mapping[str, Any], args: dict[str, Any]) -> str:
    """A query with its numbers in it. Text stays a parameter, and is added to `args`."""

    def value(parameter: re.Match[str]) -> str:
        found = values[parameter[1]]
        if isinstance(found, int):
            return f"({found})"
        args[parameter[1]] = found
        return parameter[0]

    return _PARAMETER.sub(value, sql)
