"""Rows that a run computes once and reads several times, kept where a lost executor can't take them along."""

import re
import uuid
from typing import TYPE_CHECKING

from namekeeper.pipeline.files.folder import Folder, glob_escaped
from namekeeper.pipeline.store.few_rows import few_rows
from namekeeper.pipeline.store.warehouse_folder import SCRATCH

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["in_this_process", "keep_rows"]

_ONE_PROCESS = re.compile(r"local(\[.*\])?")
"""Masters whose executor is the driver; `local-cluster` has executors of its own."""


def keep_rows(
    folder: Folder, load_id: int, rows: "DataFrame", *, little: bool = False
) -> "DataFrame | pa.Table":
    """Compute rows, and keep them: in this process if it is the only one, otherwise as Parquet.

    Args:
        folder: That of the warehouse; executors see it.
        load_id: The load, whose temporary files are deleted after the run.
        rows: The rows to compute.
        little: Whether they are few, as in a run with little to do: then their values are returned.
    """
    if little and (few := few_rows(rows)) is not None:
        return few
    spark = rows.sparkSession
    if _is_one_process(spark):
        return in_this_process(rows)
    path = folder.spark_path(f"{SCRATCH}/{load_id}-{uuid.uuid4().hex[:8]}")
    rows.write.mode("error").parquet(path)
    return spark.read.schema(rows.schema).parquet(glob_escaped(path))


def in_this_process(rows: "DataFrame") -> "DataFrame":
    """Compute rows, and keep them in the memory of executors: whatever reads them fails if one is lost."""
    # Spark does not recognise a cached query that contains a WITH; a checkpoint has no query any more.
    return rows.localCheckpoint(eager=True)


def _is_one_process(spark: "SparkSession") -> bool:
    return _ONE_PROCESS.fullmatch(spark.conf.get("spark.master", "") or "") is not None
