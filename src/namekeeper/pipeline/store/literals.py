"""Few rows as SQL, so that they are part of a statement: for Spark a view of them is an execution."""

from collections.abc import Mapping

import pyarrow as pa

__all__ = ["MOST_LITERALS", "Types", "are_literals", "arrow_schema", "values_of"]

MOST_LITERALS = 1_000
"""Spark parses each of them with each statement, which takes longer than a view if there are many."""

_ARROW = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}
"""Spark's types whose values can be written."""

Types = Mapping[str, str]
"""Column -> Spark's type."""


def arrow_schema(types: Types) -> pa.Schema | None:
    """The columns in Arrow; None if one can't be written as SQL."""
    if not _ARROW.keys() >= {*types.values()}:
        return None
    return pa.schema([(name, _ARROW[kind]) for name, kind in types.items()])


def are_literals(rows: pa.Table, types: Types) -> bool:
    """Whether rows are few enough, and of types, to be written as SQL."""
    if not rows.num_rows:
        return True
    return rows.num_rows * rows.num_columns <= MOST_LITERALS and arrow_schema(types) is not None


def values_of(rows: pa.Table, types: Types) -> str:
    """A query that gives rows, whose number Spark knows: it broadcasts them in joins."""
    if not rows.num_rows:
        # Spark leaves out the queries that read it.
        nulls = ", ".join(f"{_literal(None, kind)} AS `{name}`" for name, kind in types.items())
        return f"SELECT {nulls} WHERE false"
    names = ", ".join(f"`{name}`" for name in types)
    by_row = zip(*(rows[name].to_pylist() for name in types), strict=True)
    listed = ", ".join(f"({', '.join(map(_literal, row, types.values()))})" for row in by_row)
    return f"SELECT * FROM VALUES {listed} AS given({names})"  # noqa: S608 - literals


def _literal(value: str | int | None, kind: str) -> str:
    """A value in SQL. Text may come from a peer, so it is written as hexadecimal digits."""
    if value is None:
        return f"CAST(NULL AS {kind})"
    if isinstance(value, str):
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    return f"{value}L" if kind == "bigint" else str(value)
