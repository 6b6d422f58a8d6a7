"""Records as rows of the fact tables, without Spark: what ingest would make of them."""

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from namekeeper.pipeline.schema import FACTS, KINDS_OF
from namekeeper.pipeline.table import Table
from tests.support.history.oracle import complete_changes

__all__ = ["ABSENT", "NULLABLE", "fact_tables"]

TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "array<string>": pa.list_(pa.string()),
    "array<bigint>": pa.list_(pa.int64()),
    "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}
ABSENT = {"boolean": False, "bigint": 0, "array<string>": [], "array<bigint>": [], "map<string,string>": {}}
NULLABLE = {
    "checkpoint",
    "data_version",
    "last_seen",
    "previous_alive_ts",
    "previous_boot",
    "previous_seq",
    "window_ms",
}


def fact_tables(records: Iterable[dict[str, Any]], load_id: int = 1) -> dict[str, pa.Table]:
    """Every fact table, of records of any name servers in any order.

    Args:
        records: All there are of each name server: a change of which a part is missing is left out.
        load_id: The run that brings them.
    """
    of_server: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        of_server.setdefault(record["namesrv"], []).append(record)
    whole = [record for some in of_server.values() for record in complete_changes(some)]
    tables = {"events": _table(FACTS["events"], [_row(FACTS["events"], record, load_id) for record in whole])}
    for name, kinds in KINDS_OF.items():
        table = FACTS[name]
        rows = [_row(table, row, load_id) for r in whole if r["kind"] in kinds for row in _rows(name, r)]
        tables[name] = _table(table, rows)
    return tables


def _rows(name: str, record: dict[str, Any]) -> list[dict[str, Any]]:
    """The records that one record is, where it is several rows; and what ingest derives."""
    if name == "topic_row":
        columns = ("topic", "read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag")
        whole = [dict(zip(columns, row, strict=False)) for row in record["rows"]]
        return [{**dict.fromkeys(columns), **record, **row, "gone": len(row) == 1} for row in whole]
    if name == "lookup_hour":
        return [{**record, "topic": topic, "count": count} for topic, count in record["lookups"]]
    if name == "config":
        return [{**record, "property": key, "value": value} for key, value in record["properties"].items()]
    if name == "cluster_row":
        return [{**record, "gone": not record.get("broker_names")}]
    if name == "filter_servers":
        return [{**record, "gone": not record.get("filter_servers")}]
    if name == "topic_mapping" and "mapping" in record:
        return [{**record, "mapping": json.dumps(record["mapping"], separators=(",", ":"))}]
    if name == "kv" and not record.get("gone"):
        return [{"value": "", **record}]
    return [record]


def _row(table: Table, record: dict[str, Any], load_id: int) -> list[Any]:
    derived = {
        "place": record.get("checkpoint", record["seq"]),
        "load_id": load_id,
        "uuid8": "0" * 8,
        "file": "",
    }
    known = {**record, **derived}
    return [
        known.get(column.name, None if column.name in NULLABLE else ABSENT.get(column.type))
        for column in table.columns
    ]


def _table(table: Table, rows: list[list[Any]]) -> pa.Table:
    schema = pa.schema([(column.name, TYPES[column.type]) for column in table.columns])
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in table.columns]
    of_types = zip(columns, schema, strict=True)
    return pa.table(
        [pa.array(_mapped(values, field.type), field.type) for values, field in of_types], schema=schema
    )


def _mapped(values: list[Any], kind: pa.DataType) -> list[Any]:
    if pa.types.is_map(kind):
        return [None if value is None else list(value.items()) for value in values]
    return values
