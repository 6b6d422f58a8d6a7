"""Topics that could not be written to for some time."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.report.columns import count_of_rows, duration_column
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.values import SHOWN, ReportColumn, Rows, Section

__all__ = ["TOPICS"]

_COLUMNS = (
    ReportColumn("cluster", "cluster"),
    ReportColumn("topic", "topic"),
    duration_column("writable_ms", "writable"),
    duration_column("unwritable_ms", "not writable"),
    duration_column("no_route_ms", "no route"),
    duration_column("unknown_ms", "unknown"),
)


def _topics(about: ReportTables, _rows: Rows) -> DataFrame:
    rows = daily.topic_availability(about.spark, about.reader, *about.days)
    return rows.where(fn.col("unwritable_ms") + fn.col("no_route_ms") > 0)


def _make(rows: Rows) -> Section:
    topics = rows["topics"]
    summary = [f"{count_of_rows(topics, 'topic', SHOWN)} could not be written to for some time."]
    return Section("topics", "Topics without a writable queue", summary, _COLUMNS, topics, len(topics))


TOPICS = SectionSpec("topics", {"topics": Question(_topics, SHOWN)}, _make)
