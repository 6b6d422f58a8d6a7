"""The queries of the answers on Spark."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.answers.queries import NO_BOUNDS, Answer, query
from namekeeper.pipeline.answers.warehouse import Warehouse, opened, table
from namekeeper.pipeline.entry.readable import READABLE_VIEWS, readable_view_of
from namekeeper.pipeline.entry.views import ENTRY_VIEWS, VIEWS, sql_of_view
from namekeeper.pipeline.failures import failures_of_spark
from namekeeper.pipeline.gold.sql_file import names_read
from namekeeper.pipeline.gold.views import DAY_OF
from namekeeper.pipeline.table import Table

__all__ = ["SparkTables"]

_PARAMETER = re.compile(r":([a-z_]+)")


class SparkTables:
    """Tables of a warehouse that Spark reads; they are `AnswerTables`."""

    def __init__(self, spark: SparkSession, warehouse: Warehouse) -> None:
        self._spark = spark
        spark.sql(DAY_OF)
        self._reader = opened(warehouse)
        self.report_time_zone = self._reader.report_time_zone

    def ask(self, name: str, args: Mapping[str, Any], *, limit: int | None = None) -> Answer:
        """Run a query."""
        with failures_of_spark():
            found = self.frame(name, args)
            taken = found if limit is None else found.limit(limit)
            rows = [row.asDict(recursive=True) for row in taken.collect()]
            return Answer(rows, found.count() if len(rows) == limit else len(rows))

    def frame(self, name: str, args: Mapping[str, Any]) -> DataFrame:
        """The result of a query as a DataFrame."""
        view = query(name)
        tables = {each: table(self._spark, self._reader, each) for each in view.reads}
        return self._run(view.sql, {**NO_BOUNDS, **args}, tables)

    def create_entry_views(self) -> None:
        """Make the entry views of docs/reference/warehouse.md temporary views of the session."""
        self._create_views(ENTRY_VIEWS)

    def create_readable_views(self, *tables: str) -> None:
        """Make the readable views of tables temporary views of the session: `readable_topic_route` and so on.

        Args:
            tables: Names of tables; without any, all that have a time or a day.

        Raises:
            WarehouseError: There is no such table, or it has no readable view.
        """
        self._create_views(map(readable_view_of, tables) if tables else READABLE_VIEWS)

    def _create_views(self, names: Iterable[str]) -> None:
        views: dict[str, DataFrame] = {}
        for name in names:
            sql = sql_of_view(name)
            read = {
                each: views[each] if each in views else table(self._spark, self._reader, each)
                for each in names_read(sql)
            }
            views[name] = _described(self._run(sql, {"zone": self.report_time_zone}, read), VIEWS[name])
            views[name].createOrReplaceTempView(name)

    def _run(self, sql: str, args: Mapping[str, Any], tables: Mapping[str, DataFrame]) -> DataFrame:
        used = {key: args[key] for key in _PARAMETER.findall(sql)}
        return self._spark.sql(_with_tables(sql, tables), args=used, **tables)


def _described(rows: DataFrame, view: Table) -> DataFrame:
    """Rows of a view with the meanings of its columns as their comments."""
    return rows.select(
        *(
            rows[column.name].alias(column.name, metadata={"comment": column.meaning})
            for column in view.columns
        )
    )


def _with_tables(sql: str, names: Mapping[str, object]) -> str:
    """The query with `{name}` in place of each table: Spark replaces it by a DataFrame."""
    one_of = "|".join(sorted(names))
    return re.sub(rf"\b(FROM|JOIN)(\s+)({one_of})\b", r"\1\2{\3}", sql)
