"""Records of segments that overlap, have holes or were cut inside a change: each once, in whole changes.

What is left over waits in `incomplete` until a later load brings the rest.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.contract import KINDS, read_schema
from namekeeper.pipeline.ingest.facts import UUID8
from namekeeper.pipeline.ingest.ledger import LifeKey
from namekeeper.pipeline.ingest.records import FILE, record_columns
from namekeeper.pipeline.ingest.staging import PARTITION, Staging
from namekeeper.pipeline.schema import EVENTS, INCOMPLETE
from namekeeper.pipeline.store.table_store import Span, TableReader

__all__ = ["OTHER", "UNFINISHED", "Mended", "mend", "partition_of_kind", "unfinished_rows"]

UNFINISHED = "unfinished"
"""Partition of records of changes that are not whole."""
OTHER = "other"
"""Partition of kinds that the contract does not have: such records are in `events` only."""

_LIFE = ["namesrv", "uuid8", "boot"]
_RECORD = [*_LIFE, "seq"]
_MANY = 500
"""More lives than this are not written into a condition; the joins alone choose then."""


class Mended(NamedTuple):
    """What was found."""

    spans: Sequence[Span]
    """Of the changes that are whole now."""
    records: int
    """Their records."""
    waiting: Collection[LifeKey]
    """Boots with changes that are not."""


def mend(records: DataFrame, tables: TableReader, lives: Collection[LifeKey], *, into: Staging) -> Mended:
    """Put the new records of whole changes by kind into a staging folder, the others into `unfinished`.

    Args:
        records: Records of the segments concerned, as they were staged.
        tables: What is in the warehouse.
        lives: The boots that they are of.
        into: Where they go.
    """
    spark = records.sparkSession
    fresh = records.drop(PARTITION).withColumn("uuid8", fn.expr(UUID8))
    waiting = _of_lives(tables.table(spark, INCOMPLETE), lives)
    record = fn.from_json("record", read_schema())
    waited = waiting.select(record.alias("_record"), FILE, "uuid8").select("_record.*", FILE, "uuid8")
    known = _of_lives(tables.table(spark, EVENTS), lives).select(*_RECORD)
    new = fresh.unionByName(waited).dropDuplicates(_RECORD).join(known, _RECORD, "left_anti")
    whole = (
        new.groupBy(*_LIFE, "change")
        .agg(
            fn.count("*").alias("n"),
            fn.min("seq").alias("first"),
            fn.max("seq").alias("last"),
            fn.expr("max_by(end, seq) AS ends"),
        )
        .where("ends AND first = change AND last - first + 1 = n")
        .select(*_LIFE, "change", fn.lit(True).alias("_whole"))  # noqa: FBT003
    )
    placed = new.join(whole, [*_LIFE, "change"], "left").withColumn(
        PARTITION, fn.when(fn.col("_whole"), partition_of_kind()).otherwise(fn.lit(UNFINISHED))
    )
    into.write(placed.select(*record_columns(), FILE, PARTITION))
    return _counted(into.read(spark))


def partition_of_kind() -> Column:
    """Where a record goes by its kind."""
    return fn.when(fn.col("kind").isin(*KINDS), fn.col("kind")).otherwise(fn.lit(OTHER))


def unfinished_rows(
    staged: DataFrame, tables: TableReader, lives: Collection[LifeKey], load_id: int
) -> DataFrame:
    """Rows for `incomplete`: unfinished records that are not there yet.

    Args:
        staged: What `mend` has staged.
        tables: What is in the warehouse.
        lives: The boots that were mended.
        load_id: The run.
    """
    there = _of_lives(tables.table(staged.sparkSession, INCOMPLETE), lives).select(*_RECORD)
    record = fn.to_json(fn.struct(*record_columns()))
    unfinished = staged.where(fn.col(PARTITION) == UNFINISHED).withColumn("uuid8", fn.expr(UUID8))
    rows = unfinished.select(*_RECORD, "change", "kind", FILE, record.alias("record"))
    return rows.join(there, _RECORD, "left_anti").withColumn("load_id", fn.lit(load_id).cast("bigint"))


def _of_lives(rows: DataFrame, lives: Collection[LifeKey]) -> DataFrame:
    """Fewer rows to join with; those of other boots may be among them."""
    boots = {boot for _, _, boot in lives}
    return rows if len(boots) > _MANY else rows.where(fn.col("boot").isin(*boots))


def _counted(staged: DataFrame) -> Mended:
    is_unfinished = (fn.col(PARTITION) == UNFINISHED).alias("_unfinished")
    groups = staged.groupBy("namesrv", fn.expr(UUID8).alias("uuid8"), "boot", is_unfinished)
    counted = groups.agg(fn.count("*"), fn.min("seq"), fn.max("seq"), fn.min("ts"), fn.max("ts"))
    spans: list[Span] = []
    waiting: list[LifeKey] = []
    records = 0
    for namesrv, uuid8, boot, unfinished, n, *bounds in counted.collect():
        if unfinished:
            waiting.append((namesrv, uuid8, boot))
        else:
            spans.append(Span(namesrv, uuid8, boot, *bounds))
            records += n
    return Mended(spans, records, waiting)
