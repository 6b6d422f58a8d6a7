"""Makes a lost ledger again from the facts."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.window import Window

from namekeeper.pipeline.ingest.ledger import BootKey, Ledger, LoadedBoot, Range
from namekeeper.pipeline.schema import EVENTS, INCOMPLETE
from namekeeper.pipeline.store.table_store import TableReader

__all__ = ["rebuilt_ledger"]

_BOOT_KEY = ["namesrv", "uuid8", "boot"]


def rebuilt_ledger(spark: SparkSession, tables: TableReader) -> Ledger:
    """The ledger that follows from the facts. It lacks incomplete segments, so these are read once more.

    Args:
        spark: The session.
        tables: The warehouse.
    """
    events = tables.table(spark, EVENTS)
    ranges: dict[BootKey, list[Range]] = {}
    last_ts: dict[BootKey, int] = {}
    for namesrv, uuid8, boot, first, last, ts in _ranges(events).collect():
        key = (namesrv, uuid8, boot)
        ranges.setdefault(key, []).append((first, last))
        last_ts[key] = max(ts, last_ts.get(key, 0))
    unfinished = tables.table(spark, INCOMPLETE).join(events, [*_BOOT_KEY, "seq"], "left_anti")
    waiting = {
        (row.namesrv, row.uuid8, row.boot) for row in unfinished.select(*_BOOT_KEY).distinct().collect()
    }
    return Ledger({
        key: LoadedBoot(tuple(sorted(ranges.get(key, ()))), (), last_ts.get(key, 0), key in waiting)
        for key in ranges.keys() | waiting
    })  # fmt: skip


def _ranges(events: DataFrame) -> DataFrame:
    """Ranges of records without a gap: in each, seq minus the row number is constant."""
    order = Window.partitionBy(*_BOOT_KEY).orderBy("seq")
    numbered = events.select(
        *_BOOT_KEY, "seq", "ts", (fn.col("seq") - fn.row_number().over(order)).alias("_run")
    )
    runs = numbered.groupBy(*_BOOT_KEY, "_run").agg(fn.min("seq"), fn.max("seq"), fn.max("ts"))
    return runs.drop("_run")
