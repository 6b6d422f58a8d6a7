"""Readable views: every table with a time or a day, with timestamps and dates in their place.

The view of `topic_route` is `readable_topic_route`. It has the rows and columns of its table, under the same
names. The unit of a column decides: a point in time becomes a timestamp with milliseconds, a day a date. The
day of a row that is open is null.
"""

import re
from collections.abc import Mapping

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import Column, Table
from namekeeper.pipeline.units import DAY, INSTANT, unit_of

__all__ = ["READABLE_VIEWS", "readable_view_of", "sql_of_readable"]

_PREFIX = "readable_"
_TYPES = {INSTANT: "timestamp", DAY: "date"}
_EXPRESSIONS = {
    INSTANT: "timestamp_millis(`{0}`) AS `{0}`",
    DAY: "CAST(nullif(`{0}`, 'open') AS DATE) AS `{0}`",
}
_IN_MS = re.compile(r", ms( since 1970)?\b")


def _column(column: Column) -> Column:
    """The column of a view; its meaning mentions no ms, no text and no partition."""
    unit = unit_of(column)
    meaning = column.meaning
    if unit == INSTANT:
        meaning = re.sub(r"\bms\b", "time", _IN_MS.sub("", meaning))
    elif unit == DAY:
        meaning = meaning.replace("; partitions the table", "").replace(
            "open without one", "null without one"
        )
    return Column(column.name, _TYPES.get(unit, column.type), meaning)


def _view(table: Table) -> Table:
    return Table(
        f"{_PREFIX}{table.name}",
        f"{table.name} with timestamps and dates. {table.meaning}",
        table.grain,
        table.key,
        tuple(map(_column, table.columns)),
    )


_TABLES = {
    f"{_PREFIX}{table.name}": table
    for table in (*GOLD.values(), *FACTS.values())
    if any(unit_of(column) in _TYPES for column in table.columns)
}
"""Name of a view -> its table."""

READABLE_VIEWS: Mapping[str, Table] = {name: _view(table) for name, table in _TABLES.items()}
"""Name -> a readable view."""


def readable_view_of(table: str) -> str:
    """The name of the readable view of a table.

    Raises:
        WarehouseError: It has none.
    """
    name = f"{_PREFIX}{table}"
    if name not in READABLE_VIEWS:
        raise WarehouseError(f"there is no table {table!r} with times or days")
    return name


def sql_of_readable(name: str) -> str:
    """The query of a readable view, for Spark and DuckDB."""
    table = _TABLES[name]
    columns = (_EXPRESSIONS.get(unit_of(column), "`{0}`").format(column.name) for column in table.columns)
    return f"SELECT {', '.join(columns)} FROM {table.name}"  # noqa: S608 - names of ours
