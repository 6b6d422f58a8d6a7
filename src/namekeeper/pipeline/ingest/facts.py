"""Turns records into rows of the fact tables: one SELECT for each table, with the columns of `schema`."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.contract import ENVELOPE, KINDS, Member
from namekeeper.pipeline.ingest.records import PARTITION
from namekeeper.pipeline.schema import EVENTS, FACTS, KINDS_OF, LOAD_ID
from namekeeper.pipeline.table import Column, Table

__all__ = ["SAME_AS_RECORDS", "UUID8", "as_rows", "facts_of", "rows_column", "with_all_rows"]

UUID8 = "left(substring_index(file, '-', -4), 8)"
"""The digits of the UUID in the name of a segment, `<namesrv>-<uuid8>-<boot>-<first>-<last>.jsonl`."""

_OF_ALL = {"place": "coalesce(checkpoint, seq)", "uuid8": UUID8}
"""Columns of any table that are not just the member of that name."""

_DERIVED: Mapping[str, Mapping[str, str]] = {
    "topic_row": {"gone": "size(_row) = 1"},
    "cluster_row": {"gone": "size(coalesce(broker_names, array())) = 0"},
    "filter_servers": {"gone": "size(coalesce(filter_servers, array())) = 0"},
    "kv": {"value": "if(coalesce(gone, false), null, coalesce(value, ''))"},
    "broker_group": {"cluster": "coalesce(cluster, '')"},
}
"""Table -> its own expressions, column by column."""

_DEFAULTS = {
    "boolean": "false",
    "bigint": "0",
    "array<string>": "array()",
    "array<bigint>": "array()",
    "map<string,string>": "map()",
}
"""Default of a missing member, by type; a string is null, and so is what the contract says can be null."""

SAME_AS_RECORDS: Mapping[str, tuple[str, ...]] = {
    name: KINDS_OF.get(name, ()) for name in (EVENTS.name, "broker_minute", "unknown_topic_minute")
}
"""Large tables in which a record is one row of its own members -> kinds of these records; (): every kind."""


def facts_of(table: Table, records: DataFrame, load_id: int) -> DataFrame:
    """Rows of a fact table from the records of its kinds.

    Args:
        table: A table that is made of records.
        records: Those records, with the column `file` beside their members.
        load_id: The run.
    """
    entries = _entries(table)
    if entries is not None:
        records = records.selectExpr("*", f"explode({entries}) AS _row")
    return records.selectExpr(
        *(f"{_value(table, column, load_id)} AS `{column.name}`" for column in table.columns)
    )


def as_rows(records: DataFrame, load_id: int) -> DataFrame:
    """Records with all columns of the tables in `SAME_AS_RECORDS`, so that they are rows of them.

    Args:
        records: Records; where they are written they get the column `uuid8`.
        load_id: The run.
    """
    tables = [FACTS[name] for name in SAME_AS_RECORDS]
    values = {column.name: _value(table, column, load_id) for table in tables for column in table.columns}
    own = {name: fn.expr(value) for name, value in values.items() if value not in (f"`{name}`", UUID8)}
    return records.withColumns(own)


def with_all_rows(records: DataFrame, load_id: int) -> DataFrame:
    """Each record once, with its rows in every table: the columns of `events`, and one for each other table.

    The column of a table (`rows_column`) is a list with the values of the columns that `events` lacks, for
    each row. It is null for records of other kinds.

    Args:
        records: Records, with the columns `file` and `_part` beside their members.
        load_id: The run.
    """
    of_events = {column.name: _value(EVENTS, column, load_id) for column in EVENTS.columns}
    lists = {rows_column(FACTS[name]): _list_of_rows(FACTS[name], load_id) for name in KINDS_OF}
    return records.selectExpr(
        PARTITION, *(f"{value} AS `{name}`" for name, value in (of_events | lists).items())
    )


def rows_column(table: Table) -> str:
    """Name of the column with the rows of a table, see `with_all_rows`."""
    return f"_rows_{table.name}"


def _list_of_rows(table: Table, load_id: int) -> str:
    own = [column for column in table.columns if column not in EVENTS.columns]
    row = f"struct({', '.join(f'{_value(table, column, load_id)} AS `{column.name}`' for column in own)})"
    entries = _entries(table)
    listed = f"array({row})" if entries is None else f"transform({entries}, _row -> {row})"
    kinds = ", ".join(map(repr, KINDS_OF[table.name]))
    return f"if({PARTITION} IN ({kinds}), {listed}, null)"


def _entries(table: Table) -> str | None:
    """SQL for the list of the rows in a record; None if a record is one row."""
    for name, member in _members_of(table).items():
        if member.rows:
            return f"map_entries({name})" if member.type.startswith("map") else name
    return None


def _value(table: Table, column: Column, load_id: int) -> str:
    if column == LOAD_ID:
        return f"cast({load_id} AS bigint)"
    own = {**_OF_ALL, **_in_rows(table), **_DERIVED.get(table.name, {})}
    if column.name in own:
        return own[column.name]
    default = _DEFAULTS.get(column.type)
    member = {**ENVELOPE, **_members_of(table)}.get(column.name)
    if default is None or member is None or member.null is not None:
        return f"`{column.name}`"
    value = f"coalesce(`{column.name}`, {default})"
    kinds = KINDS_OF.get(table.name, ())
    having = [kind for kind in kinds if column.name in KINDS[kind]]
    if not having or len(having) == len(kinds):
        return value
    # A kind without such a member has null, not the default.
    return f"if(kind IN ({', '.join(map(repr, having))}), {value}, null)"


def _members_of(table: Table) -> Mapping[str, Member]:
    return {name: member for kind in KINDS_OF.get(table.name, ()) for name, member in KINDS[kind].items()}


def _in_rows(table: Table) -> Mapping[str, str]:
    """Values of the columns that are members of a row in a record: of a list of texts, or of an entry."""
    found: dict[str, str] = {}
    for member in _members_of(table).values():
        if member.rows and member.type.startswith("map"):
            found |= dict(zip(member.rows, ("_row.key", "_row.value"), strict=True))
        elif member.rows:
            found |= {
                name: f"try_cast(get(_row, {at}) AS {each.sql_type})" if each.unit else f"get(_row, {at})"
                for at, (name, each) in enumerate(member.rows.items())
            }
    return found
