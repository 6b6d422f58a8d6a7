"""The queries of the answers on Spark."""

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.answers.queries import NO_BOUNDS, Answer, query
from namekeeper.pipeline.answers.warehouse import Warehouse, opened, table
from namekeeper.pipeline.failures import failures_of_spark
from namekeeper.pipeline.gold.views import DAY_OF

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
        given = {**NO_BOUNDS, **args}
        used = {key: given[key] for key in _PARAMETER.findall(view.sql)}
        tables = {each: table(self._spark, self._reader, each) for each in view.reads}
        return self._spark.sql(_with_tables(view.sql, tables), args=used, **tables)


def _with_tables(sql: str, names: Mapping[str, object]) -> str:
    """The query with `{name}` in place of each table: Spark replaces it by a DataFrame."""
    one_of = "|".join(sorted(names))
    return re.sub(rf"\b(FROM|JOIN)(\s+)({one_of})\b", r"\1\2{\3}", sql)
