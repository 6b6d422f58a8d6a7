"""Topics that could not be written to for some time."""

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import duration_column
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count
from namekeeper.pipeline.report.values import SHOWN, Answers, ReportColumn, Section

__all__ = ["TOPICS"]

_COLUMNS = (
    ReportColumn("cluster", "cluster"),
    ReportColumn("topic", "topic"),
    duration_column("writable_ms", "writable"),
    duration_column("unwritable_ms", "not writable"),
    duration_column("no_route_ms", "no route"),
    duration_column("unknown_ms", "unknown"),
)


def _topics(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.topic_availability(about.tables, about.days, least_ms=1, limit=limit)


def _make(answers: Answers) -> Section:
    topics, total = answers["topics"]
    summary = [f"{shown_count(total, 'topic')} could not be written to for some time."]
    return Section("topics", "Topics without a writable queue", summary, _COLUMNS, topics, total)


TOPICS = SectionSpec("topics", {"topics": Question(_topics, SHOWN)}, _make)
