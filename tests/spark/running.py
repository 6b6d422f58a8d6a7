"""Runs on a warehouse, facts only: gold has tests of its own."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.run import Request, RunResult, run_once
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.parquet_store import ParquetStore

__all__ = ["few_kinds", "leave_gold_out", "rows", "run"]

Record = dict[str, Any]


def leave_gold_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs make facts only."""
    nothing = SimpleNamespace(build_gold=lambda *_: None)
    monkeypatch.setitem(sys.modules, "namekeeper.pipeline.gold.build", nothing)


def run(spark: SparkSession, warehouse: Path, *journals: Path, **more: Any) -> RunResult:
    """One run."""
    request = Request([str(each) for each in journals], str(warehouse), **more)
    return run_once(request, lambda: spark, lambda *_: None)


def rows(spark: SparkSession, warehouse: Path, name: str) -> list[dict[str, Any]]:
    """Rows of a fact table as a reader has them."""
    reader = ParquetStore(open_folder(str(warehouse))).reader()
    return [row.asDict() for row in reader.table(spark, FACTS[name]).collect()]


def few_kinds(namesrv: str, boot: int, count: int) -> list[Record]:
    """Records that end in two tables only, so that a run is short; two to a change."""
    return [
        {
            "kind": "kv", "v": 1, "namesrv": namesrv, "boot": boot, "seq": seq, "change": seq - (seq + 1) % 2,
            "end": seq % 2 == 0, "ts": boot + seq, "up_ms": seq, "namespace": "n", "key": str(seq),
        }
        for seq in range(1, count + 1)
    ]  # fmt: skip
