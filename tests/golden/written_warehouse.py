"""Writes the golden warehouse: the tables of the golden journals, made by Spark in two loads."""

import json
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from namekeeper.journal.contract.names import SegmentName
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.run import Request, run_once
from namekeeper.pipeline.store.manifest import newest_manifest
from tests.golden.written_journals import BEGIN_MS, MINUTE_MS
from tests.support.journal.segments import lines_of, write_segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DAMAGED", "sealed_segments", "table_text", "write_damaged_segments", "write_warehouse"]

DAMAGED = "golden-4_9876"
"""A name server of which only segments with faults were shipped."""
FIRST_LOAD_UNTIL = BEGIN_MS + 20 * MINUTE_MS
"""Boots that began later come with the second load, and so do later segments."""
FIRST_LOAD_SEQ = 300
SHOWN_ROWS = 150
"""Rows of a table that are stored as text."""


def write_damaged_segments(folder: Path) -> None:
    """Write segments with an incomplete change and with a line that is no record."""
    boot = BEGIN_MS + 5_000
    records: list[dict[str, Any]] = [
        {"kind": "server_started", "uuid": "40000000-0000-4000-8000-000000000000", "server_version": "golden"},
        *({"kind": "kv", "namespace": "n", "key": str(number), "value": "v"} for number in range(7)),
    ]  # fmt: skip
    for seq, record in enumerate(records, 1):
        change = min(seq, 4)  # the change of the records from 4 on has no end
        record |= {"v": 1, "namesrv": DAMAGED, "boot": boot, "seq": seq, "change": change, "ts": boot + seq}
        record |= {"up_ms": seq, **({"end": True} if seq < 4 else {})}
    write_segment(folder, records[:5], uuid8="40000000")
    later = [
        {**record, "seq": seq, "change": seq, "end": True} for seq, record in enumerate(records[1:4], 20)
    ]
    path = write_segment(folder, later, uuid8="40000000", ending=".jsonl")
    path.write_bytes(lines_of(later[:1]) + b'{"kind":"kv",\n' + lines_of(later[2:]))


def sealed_segments(journals: Path) -> list[Path]:
    """All sealed segments of some journals, which are what reaches a warehouse."""
    names = ((file, SegmentName.parse(file.name)) for file in sorted(journals.rglob("*.jsonl*")))
    return [file for file, name in names if name is not None and not name.is_open]


def write_warehouse(spark: "SparkSession", journals: Path, folder: Path, scratch: Path) -> None:
    """Write the warehouse in two loads, and keep the files that a reader of its present state needs.

    Args:
        spark: the session.
        journals: the golden journals.
        folder: where the warehouse will be.
        scratch: an empty folder.
    """
    shipped, made = scratch / "shipped", scratch / "warehouse"
    shipped.mkdir()
    segments = sealed_segments(journals)
    first = [file for file in segments if _is_early(file)]
    for some in (first, segments):
        for file in some:
            shutil.copy(file, shipped)
        run_once(Request([str(shipped)], str(made)), lambda: spark, lambda *_: None)
    manifest = newest_manifest(open_folder(str(made)))
    assert manifest is not None
    kept = [part.path for parts in manifest.tables.values() for part in parts]
    kept += [f"manifests/{manifest.number:012}.json", manifest.ledger]
    for path in kept:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made / path, folder / path)


def _is_early(file: Path) -> bool:
    name = SegmentName.parse(file.name)
    assert name is not None
    return name.boot < FIRST_LOAD_UNTIL and name.first_seq < FIRST_LOAD_SEQ


def table_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON, sorted, without the load that brought them; of many only a sample, and a digest of all."""
    lines = sorted(
        json.dumps(
            {name: value for name, value in row.items() if name != "load_id"},
            ensure_ascii=False,
            sort_keys=True,
        )
        for row in rows
    )
    shown = lines[:: -(-len(lines) // SHOWN_ROWS) or 1]
    if len(shown) < len(lines):
        digest = sha256("\n".join(lines).encode()).hexdigest()
        shown.append(f"of {len(lines)} rows, SHA-256 {digest}")
    return "".join(f"{line}\n" for line in shown)
