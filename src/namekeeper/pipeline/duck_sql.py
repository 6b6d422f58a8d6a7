"""Adapts SQL that is written for Spark to DuckDB: quotes, parameters, functions, types."""

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["MACROS", "duck_ddl", "duck_query"]

_OPERANDS = [f"a{number}" for number in range(24)]
"""As many as the longest call has."""
MACROS = (
    "day_of(ms, zone) AS strftime(timezone(zone, make_timestamptz(ms * 1000)), '%Y-%m-%d')",
    "timestamp_millis(ms) AS make_timestamptz(ms * 1000)",
    "sort_array(a) AS list_sort(a)",
    "collect_set(a) AS coalesce(list(DISTINCT a) FILTER (a IS NOT NULL), [])",
    "xxhash64"
    + ", ".join(
        f"({', '.join(_OPERANDS[:count])}) AS hash({', '.join(_OPERANDS[:count])})"
        for count in range(1, len(_OPERANDS) + 1)
    ),
    "try_element_at(a, i) AS list_extract(a, i)",
    "explode(a) AS unnest(a)",
    "sequence(a, b, step) AS generate_series(a, b, step)",
    # Of Spark, a text with an unknown part is unknown; DuckDB's own function leaves the part out.
    "concat"
    + ", ".join(
        f"({', '.join(_OPERANDS[:count])}) AS {' || '.join(_OPERANDS[:count])}" for count in range(2, 13)
    ),
)
"""Functions of Spark that DuckDB calls or does otherwise, as it wants them behind CREATE MACRO."""

_PARAMETER = re.compile(r":([a-z_]+)")
_COMMENT = re.compile(r"--.*")
_TYPES = {"bigint": "BIGINT", "string": "VARCHAR", "int": "INTEGER", "double": "DOUBLE", "boolean": "BOOLEAN"}


def duck_query(sql: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A query in DuckDB's form, and the parameters that it uses."""
    sql = _COMMENT.sub("", sql).replace("`", '"')
    used = {key: args[key] for key in _PARAMETER.findall(sql)}
    return _PARAMETER.sub(r"$\1", sql), used


def duck_ddl(ddl: str) -> str:
    """Columns with Spark's types as columns with DuckDB's."""
    ddl = ddl.replace("`", '"')
    ddl = ddl.replace(
        "array<struct<broker_id:bigint,broker_addr:string>>",
        "STRUCT(broker_id BIGINT, broker_addr VARCHAR)[]",
    )
    ddl = re.sub(r"array<(\w+)>", lambda match: f"{_TYPES[match[1]]}[]", ddl)
    return re.sub(r"map<(\w+),(\w+)>", lambda match: f"MAP({_TYPES[match[1]]}, {_TYPES[match[2]]})", ddl)
