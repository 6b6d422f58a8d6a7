"""The views of a warehouse in a catalog, as statements for Spark's SQL.

A catalog keeps views only if its kind can, so no run makes them; a reader runs these statements once. Their
days do not depend on the time zone of a session.
"""

import re
from collections.abc import Iterable, Iterator

from namekeeper.pipeline.entry.views import VIEWS, sql_of_view
from namekeeper.pipeline.gold.sql_file import names_read
from namekeeper.pipeline.store.table_format import comment_sql, literal, quoted

__all__ = ["ddl_of_views"]

_COMMENT = re.compile(r" *--.*\n")
_DAY_OF = re.compile(r"day_of\(([\w.]+), :zone\)")
"""A function of a session, which a persistent view can't call."""
_DAY = (
    "CAST(CAST(convert_timezone('UTC', {zone}, TIMESTAMP_NTZ '1970-01-01' + INTERVAL '0.001' SECOND * {ms})"
    " AS DATE) AS STRING)"
)


def ddl_of_views(names: Iterable[str], tables: str, zone: str, namespace: str | None) -> Iterator[str]:
    """Statements that make views, without a semicolon; a view stands behind those that it reads.

    Args:
        names: Names of views.
        tables: Catalog and namespace of the tables.
        zone: Time zone of the warehouse's days.
        namespace: Where persistent views are made; None: temporary views.
    """
    kind = "VIEW" if namespace else "TEMPORARY VIEW"
    for name in names:
        columns = ",\n  ".join(f"`{column.name}` {comment_sql(column)}" for column in VIEWS[name].columns)
        yield (
            f"CREATE OR REPLACE {kind} {_name(namespace, name)} (\n  {columns}\n)\n"
            f"COMMENT {literal(VIEWS[name].meaning)}\nAS {_query(name, tables, zone, namespace)}"
        )


def _query(name: str, tables: str, zone: str, namespace: str | None) -> str:
    sql = _COMMENT.sub("", sql_of_view(name)).strip()
    one_of = "|".join(sorted(names_read(sql)))

    def placed(found: re.Match[str]) -> str:
        return f"{found[1]}{_name(namespace if found[2] in VIEWS else tables, found[2])}"

    sql = re.sub(rf"\b((?:FROM|JOIN)\s+)({one_of})\b", placed, sql)
    in_zone = literal(zone)
    return _DAY_OF.sub(lambda found: _DAY.format(zone=in_zone, ms=found[1]), sql)


def _name(namespace: str | None, name: str) -> str:
    return quoted(f"{namespace}.{name}" if namespace else name)
