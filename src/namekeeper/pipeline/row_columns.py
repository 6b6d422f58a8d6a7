"""The columns of a row of the tables, as the contract states them, and their names in SQL.

A query does not list the fields of a record. It has these placeholders, where `TABLE` is a fact table of one
state kind, and `ALIAS` stands before each name:

- `{envelope}` or `{envelope as ALIAS}`: the columns that every table of records has
- `{fields of TABLE as ALIAS}`: its key, its values, whether it is gone, and how it ended
- `{values of TABLE as ALIAS}`: its values
- `{nulls of TABLE}`: as many nulls, of the same types
- `{plain of TABLE as ALIAS}`: the fields that histories have in the same form
- `{row of TABLE as ALIAS}`: its key and its values, as its history has them
- `{compared of TABLE as ALIAS}`: the same, and of each whether it is null, because Spark's hashes skip nulls
"""

import re
from collections.abc import Callable, Mapping

from namekeeper.pipeline.contract import TABLES, Member, members_of_rows
from namekeeper.pipeline.schema import ENVELOPE, FACTS, LOAD_ID
from namekeeper.pipeline.table import Column

__all__ = ["row_columns", "with_columns"]

_IN_HISTORIES: Mapping[str, Column] = {
    "broker_addrs": Column(
        "members", "array<struct<broker_id:bigint,broker_addr:string>>", "Its brokers, by id."
    ),
}
"""Members that histories have in a form that can be compared."""

_PLACEHOLDER = re.compile(
    r"\{(envelope|fields|values|nulls|plain|row|compared)(?: of (\w+))?(?: as (\w+))?\}"
)


def row_columns(table: str, part: str) -> tuple[Column, ...]:
    """Columns of a row in its history, those of one part.

    Args:
        table: The fact table of its records.
        part: As the contract calls it: `key`, `value` or `end`.
    """
    return tuple(
        _IN_HISTORIES.get(name, member.as_column(name, of_history=True))
        for name, member in _members_of(table).items()
        if member.part == part
    )


def with_columns(sql: str) -> str:
    """A query with the names of columns in place of its placeholders."""
    return _PLACEHOLDER.sub(_names, sql)


def _members_of(table: str) -> Mapping[str, Member]:
    return {
        name: member
        for kind in TABLES[table].kinds
        for name, member in members_of_rows(kind)
        if member.column
    }


def _fields(table: str) -> list[Column]:
    """Columns of a fact about its row: not those of the envelope, and not notes about the record."""
    notes = {name for name, member in _members_of(table).items() if member.part == "note"}
    return [
        column
        for column in FACTS[table].columns
        if column not in {*ENVELOPE, LOAD_ID} and column.name not in notes
    ]


def _values(table: str) -> list[Column]:
    members = _members_of(table)
    return [
        column for column in _fields(table) if column.name in members and members[column.name].part == "value"
    ]


_LISTS: Mapping[str, Callable[[str], list[Column]]] = {
    "envelope": lambda _: list(ENVELOPE),
    "fields": _fields,
    "values": _values,
    "nulls": _values,
    "plain": lambda table: [column for column in _fields(table) if column.name not in _IN_HISTORIES],
    "row": lambda table: [*row_columns(table, "key"), *row_columns(table, "value")],
    "compared": lambda table: [*row_columns(table, "key"), *row_columns(table, "value")],
}


def _names(placeholder: re.Match[str]) -> str:
    what, table, alias = placeholder.groups()
    columns = _LISTS[what](table)
    if what == "nulls":
        return ", ".join(f"CAST(NULL AS {column.type})" for column in columns)
    prefix = f"{alias}." if alias else ""
    if what == "compared":
        return ", ".join(f"{prefix}`{column.name}`, {prefix}`{column.name}` IS NULL" for column in columns)
    return ", ".join(f"{prefix}`{column.name}`" for column in columns)
