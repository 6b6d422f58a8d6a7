"""The SQL of the pipeline, which is data of the package, and what an engine that runs it has to do."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from namekeeper.pipeline.table import Table

__all__ = ["Views", "sql_text"]


class Views(Protocol):
    """An engine that runs SQL over tables; Spark, or DuckDB in tests."""

    zone: str
    """Time zone that defines a day."""

    def define(self, name: str, sql: str, args: Mapping[str, Any], *, keep: bool = False) -> None:
        """Give a query a name. `keep`: it is read more than once."""

    def put(self, name: str, ddl: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Make a small table of values, of types string and bigint."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table."""

    def show(self, name: str, table: Table) -> None:
        """Name the rows that a table has now."""


@cache
def sql_text(name: str) -> str:
    """A query, read from a folder or from a zip.

    Args:
        name: Of the file in `sql/`, without its ending.
    """
    return (files("namekeeper.pipeline.gold") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
