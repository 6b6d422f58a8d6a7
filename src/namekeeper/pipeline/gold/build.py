"""The gold tables on Spark: the steps of `gold.steps`, within the transaction of a run."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial, reduce
from operator import or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.gold.concurrency import run_concurrently, run_in_background
from namekeeper.pipeline.gold.engine import Engine
from namekeeper.pipeline.gold.plan import FOREVER, NewRecords, RecomputeRange
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.views import SparkViews
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.table_store import LoadedRange, Transaction
from namekeeper.pipeline.table import Table

__all__ = ["build_gold"]

_WHOLE = {
    "server",
    "broker_minute",
    "lookup_hour",
    "unknown_topic_minute",
    "denied",
    "access",
    "incomplete",
    "quarantine",
}
"""Fact tables that are not read by ranges."""
_MANY_RANGES = 64
"""With more ranges the filter for the file reader is too long: then only the join selects rows."""


def build_gold(
    spark: SparkSession,
    transaction: Transaction,
    spans: Iterable[LoadedRange],
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> None:
    """Update every gold table with the records that a run added to the facts.

    Args:
        spark: The session.
        transaction: The run. Its facts are written already; gold is added, and the caller commits both.
        spans: The new records.
        progress: Called with the name of the table that is being made.
    """
    new_records = [
        NewRecords(span.namesrv, span.boot, span.first_seq, span.last_seq, span.first_ts) for span in spans
    ]
    with _SparkEngine(spark, transaction, progress) as engine:
        make_gold(engine, new_records)


class _SparkEngine(SparkViews, Engine):
    """The engine that the steps ask for, on Spark."""

    def __init__(
        self, spark: SparkSession, transaction: Transaction, progress: Callable[[str, int, int], None]
    ) -> None:
        super().__init__(spark, transaction)
        self._transaction = transaction
        self._progress = progress

    def is_there(self, table: Table) -> bool:
        """Whether anything was ever written to a table."""
        return self._transaction.is_there(table)

    def kept(self, rows: DataFrame) -> DataFrame | pa.Table:
        """The rows of a query, computed now and kept until the run ends."""
        return self._transaction.keep(rows)

    def show_facts(self, ranges: Sequence[RecomputeRange]) -> None:
        """Name every fact table. Tables of changes are read within the ranges only."""
        wanted = _condition(ranges)
        for table in FACTS.values():
            of_ranges = None if table.name in _WHOLE else wanted
            self.show_rows(table.name, table, partial(self._facts, table, of_ranges))

    def _facts(self, table: Table, wanted: Column | None) -> DataFrame | pa.Table:
        rows = self.present(table)
        return rows if wanted is None or isinstance(rows, pa.Table) else rows.where(wanted)

    def show_added(self, name: str, table: Table) -> None:
        """Name the rows that this run has added to a fact table."""
        self.show_rows(name, table, partial(self._transaction.added, self.spark, table))

    def replace(
        self, table: Table, name: str, *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Replace the rows of a table, or those of some of its partitions."""
        self._progress(f"making {table.name}", 0, 1)
        self._transaction.replace(table, self.frame(name), by=by, values=values)
        self.forget(table)

    def concurrently(self, steps: Sequence[Callable[[], Any]]) -> list[Any]:
        """Do steps in several threads."""
        return run_concurrently(steps)

    def in_background(self, step: Callable[[], Any]) -> AbstractContextManager[Callable[[], Any]]:
        """Do a step in a thread of its own."""
        return run_in_background(step)


def _condition(ranges: Sequence[RecomputeRange]) -> Column | None:
    """A filter for the records of the ranges, to skip other files; None if it would be too long."""
    if not ranges or len(ranges) > _MANY_RANGES:
        return None
    return reduce(or_, map(_of_range, ranges))


def _of_range(range_: RecomputeRange) -> Column:
    boot, seq = fn.col("boot"), fn.col("seq")
    is_wanted = fn.col("namesrv") == range_.namesrv
    if range_.from_boot >= 0:
        is_wanted &= (boot > range_.from_boot) | ((boot == range_.from_boot) & (seq >= range_.from_position))
    if range_.to_boot < FOREVER:
        is_wanted &= (boot < range_.to_boot) | ((boot == range_.to_boot) & (seq < range_.to_position))
    return is_wanted
