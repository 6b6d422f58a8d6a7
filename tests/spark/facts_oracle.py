"""The fact tables as a plain loop over records makes them, to compare with what Spark makes of segments."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from namekeeper.pipeline.contract import KINDS
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.schema import FACTS, KINDS_OF
from namekeeper.pipeline.store.manifest import newest_manifest
from namekeeper.pipeline.table import Table, names_in
from tests.support.history.facts import ABSENT, NULLABLE

__all__ = ["Rows", "complete_changes", "expected_facts", "written"]

Record = dict[str, Any]
Rows = list[str]
"""Rows as JSON, sorted: two tables are equal if these are."""

NOT_COMPARED = {"load_id", "file"}
TOPIC = ("topic", "read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag")


def complete_changes(records: Iterable[Record]) -> list[Record]:
    """Records of changes of which every record is there, each once."""
    changes: dict[tuple[str, int, int], dict[int, Record]] = {}
    for record in records:
        changes.setdefault((record["namesrv"], record["boot"], record["change"]), {})[record["seq"]] = record
    whole: list[Record] = []
    for (_, _, first), members in changes.items():
        last = max(members)
        if members[last].get("end") and set(members) == set(range(first, last + 1)):
            whole += members.values()
    return whole


def expected_facts(records: Iterable[Record], uuid8: str) -> Mapping[str, Rows]:
    """Every table that is made of records."""
    whole = complete_changes(records)
    tables = {"events": [_row(FACTS["events"], record, uuid8) for record in whole]}
    for name, kinds in KINDS_OF.items():
        parts = (part for record in whole if record["kind"] in kinds for part in _parts(name, record))
        tables[name] = [_row(FACTS[name], part, uuid8) for part in parts]
    return {name: sorted(rows) for name, rows in tables.items()}


def written(warehouse: Path) -> Mapping[str, Rows]:
    """The same as the newest manifest of a warehouse has them, read without Spark."""
    manifest = newest_manifest(open_folder(str(warehouse)))
    assert manifest is not None
    tables: dict[str, Rows] = {}
    for name in ("events", *KINDS_OF):
        maps = {column.name for column in FACTS[name].columns if column.type.startswith("map")}
        columns = names_in(FACTS[name])
        paths = [warehouse / part.path for part in manifest.tables.get(name, ())]
        parts = [pq.read_table(path, partitioning=None).to_pylist() for path in paths]
        # Files of an earlier version lack newer columns, and files of several tables have more.
        rows = [{column: row.get(column) for column in columns} for part in parts for row in part]
        tables[name] = sorted(json.dumps(_plain(row, maps), sort_keys=True) for row in rows)
    return tables


def _plain(row: Record, maps: set[str]) -> Record:
    kept = {name: value for name, value in row.items() if name not in NOT_COMPARED}
    of_maps = {name: None if value is None else dict(value) for name, value in kept.items() if name in maps}
    return kept | of_maps


def _parts(name: str, record: Record) -> list[Record]:
    if name == "topic_row":
        return [
            {**dict.fromkeys(TOPIC), **record, **dict(zip(TOPIC, row, strict=False)), "gone": len(row) == 1}
            for row in record["rows"]
        ]
    if name == "lookup_hour":
        return [{**record, "topic": topic, "count": count} for topic, count in record["lookups"]]
    if name == "config":
        return [{**record, "property": key, "value": value} for key, value in record["properties"].items()]
    if name in {"cluster_row", "filter_servers"}:
        return [{**record, "gone": not record.get("broker_names") and not record.get("filter_servers")}]
    if name == "topic_mapping" and "mapping" in record:
        return [{**record, "mapping": json.dumps(record["mapping"], separators=(",", ":"))}]
    if name == "kv" and not record.get("gone"):
        return [{"value": "", **record}]
    return [{"cluster": "", **record}] if name == "broker_group" else [record]


def _row(table: Table, record: Record, uuid8: str) -> str:
    row = {}
    for column in table.columns:
        if column.name in NOT_COMPARED:
            continue
        derived = {"place": record.get("checkpoint", record["seq"]), "uuid8": uuid8}
        has_it = column.name in KINDS.get(record["kind"], {}) or len(KINDS_OF.get(table.name, ())) <= 1
        absent = ABSENT.get(column.type) if has_it and column.name not in NULLABLE else None
        row[column.name] = {**record, **derived}.get(column.name, absent)
    return json.dumps(row, sort_keys=True)
