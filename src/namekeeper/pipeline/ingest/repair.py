"""Takes records of damaged segments, which overlap, have gaps, or were cut inside a change.

Each record is taken once, and only if its change is complete. The others wait in `incomplete` until a later
load brings the missing records.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.contract import read_schema
from namekeeper.pipeline.ingest.facts import UUID8
from namekeeper.pipeline.ingest.ledger import BootKey
from namekeeper.pipeline.ingest.records import FILE, PARTITION, partition_of_kind, record_columns
from namekeeper.pipeline.ingest.staging import Staging
from namekeeper.pipeline.schema import EVENTS, INCOMPLETE
from namekeeper.pipeline.store.table_store import LoadedRange, TableReader

__all__ = ["UNFINISHED", "Repaired", "repair_segments", "unfinished_rows"]

UNFINISHED = "unfinished"
"""Partition of records of changes that are not complete."""

_BOOT_KEY = ["namesrv", "uuid8", "boot"]
_RECORD = [*_BOOT_KEY, "seq"]
_MANY = 500
"""With more boots than this there is no condition on the boot; only the joins select the rows."""


class Repaired(NamedTuple):
    """The result of a repair."""

    loaded: Sequence[LoadedRange]
    """Ranges of the changes that are complete now."""
    records: int
    """Number of records in these changes."""
    waiting: Collection[BootKey]
    """Boots with changes that are still incomplete."""


def repair_segments(
    records: DataFrame, tables: TableReader, boots: Collection[BootKey], *, into: Staging
) -> Repaired:
    """Write new records to a staging folder: those of complete changes by kind, the others as `unfinished`.

    Args:
        records: Records of the damaged segments, as they were staged.
        tables: The tables of the warehouse.
        boots: The boots that have these records.
        into: The staging folder.
    """
    spark = records.sparkSession
    staged = records.drop(PARTITION).withColumn("uuid8", fn.expr(UUID8))
    waiting = _of_boots(tables.table(spark, INCOMPLETE), boots)
    record = fn.from_json("record", read_schema())
    waited = waiting.select(record.alias("_record"), FILE, "uuid8").select("_record.*", FILE, "uuid8")
    known = _of_boots(tables.table(spark, EVENTS), boots).select(*_RECORD)
    new = staged.unionByName(waited).dropDuplicates(_RECORD).join(known, _RECORD, "left_anti")
    complete = (
        new.groupBy(*_BOOT_KEY, "change")
        .agg(
            fn.count("*").alias("n"),
            fn.min("seq").alias("first"),
            fn.max("seq").alias("last"),
            fn.expr("max_by(end, seq) AS ends"),
        )
        .where("ends AND first = change AND last - first + 1 = n")
        .select(*_BOOT_KEY, "change", fn.lit(True).alias("_complete"))  # noqa: FBT003
    )
    parted = new.join(complete, [*_BOOT_KEY, "change"], "left").withColumn(
        PARTITION, fn.when(fn.col("_complete"), partition_of_kind()).otherwise(fn.lit(UNFINISHED))
    )
    into.write(parted.select(*record_columns(), FILE, PARTITION))
    return _counted(into.read(spark))


def unfinished_rows(
    staged: DataFrame, tables: TableReader, boots: Collection[BootKey], load_id: int
) -> DataFrame:
    """Rows for `incomplete`: unfinished records that are not there yet.

    Args:
        staged: The rows that `repair_segments` has staged.
        tables: The tables of the warehouse.
        boots: The boots that were repaired.
        load_id: The run.
    """
    there = _of_boots(tables.table(staged.sparkSession, INCOMPLETE), boots).select(*_RECORD)
    record = fn.to_json(fn.struct(*record_columns()))
    unfinished = staged.where(fn.col(PARTITION) == UNFINISHED).withColumn("uuid8", fn.expr(UUID8))
    rows = unfinished.select(*_RECORD, "change", "kind", FILE, record.alias("record"))
    return rows.join(there, _RECORD, "left_anti").withColumn("load_id", fn.lit(load_id).cast("bigint"))


def _of_boots(rows: DataFrame, boots: Collection[BootKey]) -> DataFrame:
    """Rows of these boots, and perhaps of others; this makes the joins smaller."""
    times = {boot for _, _, boot in boots}
    return rows if len(times) > _MANY else rows.where(fn.col("boot").isin(*times))


def _counted(staged: DataFrame) -> Repaired:
    is_unfinished = (fn.col(PARTITION) == UNFINISHED).alias("_unfinished")
    groups = staged.groupBy("namesrv", fn.expr(UUID8).alias("uuid8"), "boot", is_unfinished)
    counted = groups.agg(fn.count("*"), fn.min("seq"), fn.max("seq"), fn.min("ts"), fn.max("ts"))
    loaded: list[LoadedRange] = []
    waiting: list[BootKey] = []
    records = 0
    for namesrv, uuid8, boot, unfinished, n, *bounds in counted.collect():
        if unfinished:
            waiting.append((namesrv, uuid8, boot))
        else:
            loaded.append(LoadedRange(namesrv, uuid8, boot, *bounds))
            records += n
    return Repaired(loaded, records, waiting)
