"""The definition of a warehouse table as a value: its name, grain, key and columns, each with its meaning.

Schemas for Spark, the reference pages and the checks are made from these.
"""

from typing import NamedTuple

__all__ = ["Column", "Table", "columns", "names_in", "types_of"]


class Column(NamedTuple):
    """A column of a table."""

    name: str
    type: str
    """Type of the column in Spark's DDL."""
    meaning: str


class Table(NamedTuple):
    """A table of the warehouse."""

    name: str
    meaning: str
    grain: str
    """The meaning of one row."""
    key: tuple[str, ...]
    """Columns that identify a row; empty if none do."""
    columns: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        """Columns as Spark's DDL."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)


def columns(*described: str) -> tuple[Column, ...]:
    """Columns, each written as `name type: meaning`.

    Args:
        described: A line for each column; the type has no blank in it.
    """
    return tuple(_column(line) for line in described)


def names_in(table: Table) -> list[str]:
    """Names of the columns of a table, in order."""
    return [column.name for column in table.columns]


def types_of(table: Table) -> dict[str, str]:
    """Columns of a table, in order, with their types in Spark's DDL."""
    return {column.name: column.type for column in table.columns}


def _column(line: str) -> Column:
    head, _, meaning = line.partition(": ")
    name, _, type_ = head.partition(" ")
    return Column(name, type_, meaning)
