"""A ledger that was lost, from the facts."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.window import Window

from namekeeper.pipeline.ingest.ledger import Ledger, Life, LifeKey, Range
from namekeeper.pipeline.schema import EVENTS, INCOMPLETE
from namekeeper.pipeline.store.table_store import TableReader

__all__ = ["rebuilt_ledger"]

_LIFE = ["namesrv", "uuid8", "boot"]


def rebuilt_ledger(spark: SparkSession, tables: TableReader) -> Ledger:
    """What is in, by the facts alone. Segments that could not be read whole are read once more.

    Args:
        spark: The session.
        tables: The warehouse.
    """
    events = tables.table(spark, EVENTS)
    ranges: dict[LifeKey, list[Range]] = {}
    last_ts: dict[LifeKey, int] = {}
    for namesrv, uuid8, boot, first, last, ts in _ranges(events).collect():
        key = (namesrv, uuid8, boot)
        ranges.setdefault(key, []).append((first, last))
        last_ts[key] = max(ts, last_ts.get(key, 0))
    unfinished = tables.table(spark, INCOMPLETE).join(events, [*_LIFE, "seq"], "left_anti")
    waiting = {(row.namesrv, row.uuid8, row.boot) for row in unfinished.select(*_LIFE).distinct().collect()}
    return Ledger({
        key: Life(tuple(sorted(ranges.get(key, ()))), (), last_ts.get(key, 0), key in waiting)
        for key in ranges.keys() | waiting
    })  # fmt: skip


def _ranges(events: DataFrame) -> DataFrame:
    """Runs of records without a hole: within one, seq grows as the number of the row does."""
    order = Window.partitionBy(*_LIFE).orderBy("seq")
    numbered = events.select(*_LIFE, "seq", "ts", (fn.col("seq") - fn.row_number().over(order)).alias("_run"))
    runs = numbered.groupBy(*_LIFE, "_run").agg(fn.min("seq"), fn.max("seq"), fn.max("ts"))
    return runs.drop("_run")
