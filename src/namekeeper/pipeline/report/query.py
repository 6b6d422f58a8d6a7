"""What a report is to be about, and asking a warehouse for it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline import answers_daily
from namekeeper.pipeline.answers import table
from namekeeper.pipeline.report.sections import make_report
from namekeeper.pipeline.report.values import AT_MOST, LANES, SHOWN, Report, Row
from namekeeper.pipeline.store.table_store import TableReader

__all__ = ["ReportQuery", "collect_report"]

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "availability": ("availability", "states"),
    "topics": ("topics",),
    "flaps": ("flaps",),
    "drift": ("drift",),
    "capacity": ("capacity", "capacity_by_day", "last_held"),
    "changes": ("changes", "changes_by_hour"),
    "unknown-topics": ("unknown_topics",),
}


class ReportQuery(NamedTuple):
    """What a report is to be about."""

    sections: Sequence[str]
    first_day: str | None = None
    last_day: str | None = None
    """Days of the warehouse's time zone, both included; None: all there are."""


def collect_report(
    spark: SparkSession,
    tables: TableReader,
    query: ReportQuery,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Report:
    """Ask a warehouse for what a report needs, and make the report.

    Args:
        spark: The session.
        tables: The warehouse as it is now.
        query: What is wanted.
        progress: Told what is asked for, how many questions were answered, and how many there are.
    """
    asking = _Asking(spark, tables, query)
    needed = [name for section in query.sections for name in _NEEDS[section]]
    for done, name in enumerate(needed):
        progress("asking the tables", done, len(needed))
        asking.ask(name)
    progress("asking the tables", len(needed), len(needed))
    asking.found["lives"] = [
        row.asDict(recursive=True) for row in table(spark, tables, "name_server_session").collect()
    ]
    days = (query.first_day, query.last_day)
    return make_report(tables.report_time_zone, query.sections, asking.found, days)


class _Asking:
    """Questions for a report, and what was answered."""

    def __init__(self, spark: SparkSession, tables: TableReader, query: ReportQuery) -> None:
        self.found: dict[str, Sequence[Row]] = {}
        self._spark = spark
        self._tables = tables
        self._days = (query.first_day, query.last_day)

    def ask(self, name: str) -> None:
        """Answer one question."""
        if name == "last_held" and self.found["capacity"]:
            self.found[name] = []  # days have numbers of their own
            return
        limit = SHOWN if name in {"topics", "changes"} else AT_MOST
        rows: DataFrame = getattr(self, f"_{name}")()
        self.found[name] = [row.asDict(recursive=True) for row in rows.limit(limit).collect()]

    def _availability(self) -> DataFrame:
        return answers_daily.availability(self._spark, self._tables, *self._days)

    def _topics(self) -> DataFrame:
        rows = answers_daily.topic_availability(self._spark, self._tables, *self._days)
        return rows.where(fn.col("unwritable_ms") + fn.col("no_route_ms") > 0)

    def _states(self) -> DataFrame:
        """Of the least available brokers only: the plot has no place for more."""
        worst = self.found["availability"][:LANES]
        names = [row["broker_name"] for row in worst]
        rows = self._of_days("broker_state_daily").where(fn.col("broker_name").isin(names))
        return rows.orderBy("valid_from")

    def _flaps(self) -> DataFrame:
        return answers_daily.flaps(self._spark, self._tables, *self._days)

    def _drift(self) -> DataFrame:
        return answers_daily.drift(self._spark, self._tables, *self._days)

    def _capacity(self) -> DataFrame:
        """As it was on the last day."""
        rows = answers_daily.capacity(self._spark, self._tables, *self._days)
        last = self._of_days("capacity_daily").agg(fn.max("day").alias("day"))
        return rows.join(last, "day", how="left_semi").orderBy(
            fn.desc("write_queues"), "cluster", "broker_name"
        )

    def _capacity_by_day(self) -> DataFrame:
        rows = answers_daily.capacity(self._spark, self._tables, *self._days)
        sums = rows.groupBy("day", "cluster").agg(
            fn.sum("write_queues").alias("write_queues"), fn.max("frame_used").alias("frame_used")
        )
        return sums.orderBy("day", "cluster")

    def _last_held(self) -> DataFrame:
        """What each broker name had when it was last there, at the name server that kept it longest."""
        held = self._of_days("topic_route", "valid_to_day").where(fn.col("valid_to").isNotNull())
        sums = held.groupBy("namesrv", "broker_name", fn.col("valid_to").alias("until")).agg(
            fn.count("*").alias("topics"),
            fn.sum("read_queue_nums").alias("read_queues"),
            fn.sum("write_queue_nums").alias("write_queues"),
        )
        counted = ("topics", "read_queues", "write_queues")
        last = sums.groupBy("broker_name").agg(
            fn.max("until").alias("until"), *(fn.max_by(name, "until").alias(name) for name in counted)
        )
        groups = table(self._spark, self._tables, "broker_group_history").groupBy("broker_name")
        clusters = groups.agg(fn.max_by("cluster", "valid_from").alias("cluster"))
        return last.join(clusters, "broker_name", how="left").orderBy(
            fn.desc("write_queues"), "cluster", "broker_name"
        )

    def _changes(self) -> DataFrame:
        return answers_daily.changes(self._spark, self._tables, *self._days)

    def _changes_by_hour(self) -> DataFrame:
        hour = fn.col("at_ts") - fn.col("at_ts") % 3_600_000
        cause = fn.coalesce("cause", "action")
        rows = self._of_days("change_log").groupBy(hour.alias("hour"), cause.alias("cause"))
        return rows.agg(fn.sum("items").alias("items")).orderBy("hour", "cause")

    def _unknown_topics(self) -> DataFrame:
        return answers_daily.unknown_topics(self._spark, self._tables, *self._days)

    def _of_days(self, name: str, day: str = "day") -> DataFrame:
        first, last = self._days
        rows = table(self._spark, self._tables, name)
        rows = rows if first is None else rows.where(fn.col(day) >= first)
        return rows if last is None else rows.where(fn.col(day) <= last)
