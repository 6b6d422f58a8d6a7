"""Named queries on Spark over the tables of a warehouse; a name is a temporary view of the session."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.gold.sql_file import names_read
from namekeeper.pipeline.gold.sql_text import Views
from namekeeper.pipeline.session_settings import suited_to_views
from namekeeper.pipeline.store.kept_rows import in_this_process
from namekeeper.pipeline.store.table_store import TableReader
from namekeeper.pipeline.table import Table

__all__ = ["DAY_OF", "SparkViews"]

_PARAMETER = re.compile(r":([a-z_]+)")
_COMMENT = re.compile(r"--.*")

DAY_OF = """
CREATE OR REPLACE TEMPORARY FUNCTION day_of(ms BIGINT, zone STRING) RETURNS STRING
RETURN date_format(from_utc_timestamp(timestamp_millis(ms), zone), 'yyyy-MM-dd')
"""
"""Makes the function that gives the day of an instant."""


class SparkViews(Views):
    """Queries by name; the rows of some are computed at once and kept.

    A name becomes a temporary view of the session when the first query reads it: for Spark each view is an
    execution, and many names are only written or collected.
    """

    def __init__(self, spark: SparkSession, tables: TableReader) -> None:
        self.zone = tables.report_time_zone
        self.spark = spark
        self.tables = tables
        self._views: dict[str, DataFrame] = {}
        self._later: dict[str, Callable[[], DataFrame]] = {}
        self._in_session: set[str] = set()
        """Names whose view has their present rows."""
        self._to_drop: set[str] = set()
        self._naming = Lock()
        self._leaving = ExitStack()
        spark.sql(DAY_OF)

    def __enter__(self) -> Self:
        self._leaving.enter_context(suited_to_views(self.spark))
        self._leaving.callback(self.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.__exit__(kind, error, trace)

    def define(self, name: str, sql: str, args: Mapping[str, Any], *, keep: bool = False) -> None:
        """Give a query a name."""
        used = {key: args[key] for key in _PARAMETER.findall(_COMMENT.sub("", sql))}
        self._show_in_session(names_read(sql))
        rows = self.spark.sql(sql, args=used)
        self.view(name, self.kept(rows) if keep else rows)

    def kept(self, rows: DataFrame) -> DataFrame:
        """The rows of a query, computed now and kept."""
        return in_this_process(rows)

    def put(self, name: str, ddl: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Make a small table of values."""
        # From an Arrow table Spark makes a relation whose size it knows: joins with it are broadcast.
        self.view(name, self.spark.createDataFrame(_arrow_table(ddl, rows), ddl))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table."""
        return [row.asDict(recursive=True) for row in self.frame(name).collect()]

    def show(self, name: str, table: Table) -> None:
        """Make the present rows of a table readable by its name."""
        self.view_later(name, partial(self.tables.table, self.spark, table))

    def view(self, name: str, rows: DataFrame) -> None:
        """Give rows a name."""
        with self._naming:
            self._views[name] = rows
            self._later.pop(name, None)
            self._in_session.discard(name)

    def view_later(self, name: str, rows: Callable[[], DataFrame]) -> None:
        """Give a name to rows whose DataFrame is only made if a query reads them."""
        with self._naming:
            self._later[name] = rows
            self._in_session.discard(name)

    def forget_unread(self, name: str) -> None:
        """Take a name away if no query has read it: its table has other rows now."""
        with self._naming:
            self._later.pop(name, None)

    def frame(self, name: str) -> DataFrame:
        """The rows that have a name."""
        with self._naming:
            return self._made(name)

    def close(self) -> None:
        """Drop the temporary views."""
        for name in self._to_drop:
            self.spark.catalog.dropTempView(name)
        self._to_drop.clear()
        self._in_session.clear()
        self._views.clear()
        self._later.clear()

    def _made(self, name: str) -> DataFrame:
        if make := self._later.pop(name, None):
            self._views[name] = make()
        return self._views[name]

    def _show_in_session(self, names: Iterable[str]) -> None:
        with self._naming:
            for name in sorted(names):
                if name not in self._in_session and (name in self._views or name in self._later):
                    self._made(name).createOrReplaceTempView(name)
                    self._in_session.add(name)
                    self._to_drop.add(name)


def _arrow_table(ddl: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    types = {"string": pa.string(), "bigint": pa.int64()}
    named = (column.split() for column in ddl.split(","))
    schema = pa.schema([(name, types[kind]) for name, kind in named])
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)
