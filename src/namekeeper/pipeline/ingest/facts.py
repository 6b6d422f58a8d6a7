"""Turns records into rows of the fact tables: one SELECT for each table, with the columns of `schema`."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.contract import KINDS
from namekeeper.pipeline.schema import EVENTS, FACTS, KINDS_OF, LOAD_ID
from namekeeper.pipeline.table import Column, Table

__all__ = ["SAME_AS_RECORDS", "UUID8", "as_rows", "facts_of"]

UUID8 = "left(substring_index(file, '-', -4), 8)"
"""The digits of the UUID in the name of a segment, `<namesrv>-<uuid8>-<boot>-<first>-<last>.jsonl`."""

_OF_ALL = {"place": "coalesce(checkpoint, seq)", "uuid8": UUID8}
"""Columns of any table that are not just the member of that name."""

_EXPLODED = {
    "topic_row": "explode(rows) AS _row",
    "lookup_hour": "explode(lookups) AS _row",
    "config": "explode(properties) AS (_name, _value)",
}
"""Tables in which one record makes several rows."""

_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "topic_row": {
        "topic": "get(_row, 0)",
        "read_queue_nums": "try_cast(get(_row, 1) AS int)",
        "write_queue_nums": "try_cast(get(_row, 2) AS int)",
        "perm": "try_cast(get(_row, 3) AS int)",
        "topic_sys_flag": "try_cast(get(_row, 4) AS int)",
        "gone": "size(_row) = 1",
    },
    "lookup_hour": {"topic": "get(_row, 0)", "count": "cast(get(_row, 1) AS bigint)"},
    "config": {"property": "_name", "value": "_value"},
    "cluster_row": {"gone": "size(coalesce(broker_names, array())) = 0"},
    "filter_servers": {"gone": "size(coalesce(filter_servers, array())) = 0"},
    "kv": {"value": "if(coalesce(gone, false), null, coalesce(value, ''))"},
    "broker_group": {"cluster": "coalesce(cluster, '')"},
}
"""The same for single tables."""

_DEFAULTS = {
    "boolean": "false",
    "bigint": "0",
    "array<string>": "array()",
    "array<bigint>": "array()",
    "map<string,string>": "map()",
}
"""Default of a missing member, by type; a string is null. See the contract."""

SAME_AS_RECORDS: Mapping[str, tuple[str, ...]] = {
    name: KINDS_OF.get(name, ()) for name in (EVENTS.name, "broker_minute", "unknown_topic_minute")
}
"""Large tables in which a record is one row of its own members -> kinds of these records; (): every kind."""

_NULLABLE = {"checkpoint", "data_version", "last_seen", "previous_alive_ts", "previous_boot", "previous_seq"}
"""Members without a default: a missing one is null."""


def facts_of(table: Table, records: DataFrame, load_id: int) -> DataFrame:
    """Rows of a fact table from the records of its kinds.

    Args:
        table: A table that is made of records.
        records: Those records, with the column `file` beside their members.
        load_id: The run.
    """
    if table.name in _EXPLODED:
        records = records.selectExpr("*", _EXPLODED[table.name])
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


def _value(table: Table, column: Column, load_id: int) -> str:
    if column == LOAD_ID:
        return f"cast({load_id} AS bigint)"
    own = {**_OF_ALL, **_COLUMNS.get(table.name, {})}
    if column.name in own:
        return own[column.name]
    default = _DEFAULTS.get(column.type)
    if default is None or column.name in _NULLABLE:
        return f"`{column.name}`"
    value = f"coalesce(`{column.name}`, {default})"
    kinds = KINDS_OF.get(table.name, ())
    having = [kind for kind in kinds if column.name in KINDS[kind]]
    if not having or len(having) == len(kinds):
        return value
    # A kind without such a member has null, not the default.
    return f"if(kind IN ({', '.join(map(repr, having))}), {value}, null)"
