"""Opening a warehouse and its tables, for every answer.

A warehouse is given by its URI. Several answers about the same version of it take a `TableReader` instead.
"""

from typing import TYPE_CHECKING

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.stores import open_store
from namekeeper.pipeline.store.table_store import TableReader
from namekeeper.pipeline.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Warehouse", "any_table", "open_warehouse", "opened", "table"]

Warehouse = str | TableReader
"""A URI, or tables as they were at one time."""


def open_warehouse(uri: str) -> TableReader:
    """The tables of a warehouse as they are now.

    Raises:
        WarehouseError: There is no warehouse.
    """
    return open_store(open_folder(uri)).reader()


def opened(warehouse: Warehouse) -> TableReader:
    """The tables of a warehouse; those that are given already stay as they are.

    Raises:
        WarehouseError: There is no warehouse.
    """
    return open_warehouse(warehouse) if isinstance(warehouse, str) else warehouse


def any_table(name: str) -> Table:
    """A fact or gold table by its name (docs/reference/warehouse.md).

    Raises:
        WarehouseError: There is no such table.
    """
    found = GOLD.get(name) or FACTS.get(name)
    if found is None:
        raise WarehouseError(f"there is no table {name!r}; there are {', '.join(sorted([*GOLD, *FACTS]))}")
    return found


def table(spark: "SparkSession", warehouse: Warehouse, name: str) -> "DataFrame":
    """A fact or gold table by its name, as a DataFrame of Spark.

    Raises:
        WarehouseError: There is no warehouse, or no such table.
    """
    found = any_table(name)
    return opened(warehouse).table(spark, found)
