"""Chooses the engine: DuckDB if the tables are files, Spark if they are in a catalog."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from namekeeper.pipeline.answers.queries import AnswerTables
from namekeeper.pipeline.answers.warehouse import Warehouse, opened
from namekeeper.pipeline.store.parquet_store import ParquetReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_tables"]


def open_tables(warehouse: Warehouse, session: "Callable[[], SparkSession]") -> AnswerTables:
    """The tables of a warehouse, on the fastest engine for them.

    Parquet files are read by DuckDB. Tables in a catalog are Spark's, and where DuckDB is not installed, as
    on a cluster, Spark reads files too.

    Args:
        warehouse: Its URI, or its tables.
        session: Gives the session of Spark; called only if Spark is needed.

    Raises:
        WarehouseError: There is no warehouse.
    """
    tables = opened(warehouse)
    if isinstance(tables, ParquetReader) and find_spec("duckdb") is not None:
        from namekeeper.pipeline.answers.duck_tables import DuckTables

        return DuckTables(tables)
    from namekeeper.pipeline.answers.spark_tables import SparkTables

    return SparkTables(session(), tables)
