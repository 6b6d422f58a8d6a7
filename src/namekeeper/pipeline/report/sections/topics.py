"""Topics that could not be written to for some time."""

from namekeeper.common.counts import shown_count
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import CLUSTER, duration_column
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.values import KEPT, Answers, Headline, ReportColumn, Section, Severity

__all__ = ["TOPICS"]

_COLUMNS = (
    CLUSTER,
    ReportColumn("topic", "topic", is_subject=True),
    duration_column("writable_ms", "writable"),
    duration_column("unwritable_ms", "not writable"),
    duration_column("no_route_ms", "no route"),
    duration_column("unknown_ms", "unknown"),
)


def _topics(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.topic_availability(about.tables, about.days, least_ms=1, limit=limit)


def _make(answers: Answers, _zone: str) -> Section:
    topics, total = answers["topics"]
    said = f"{shown_count(total, 'topic')} could not be written to for some time"
    headline = (
        Headline(Severity.BAD, said) if total else Headline(Severity.GOOD, "Every topic could be written to")
    )
    title = "Topics without a writable queue"
    return Section("topics", title, headline, [f"{said}."], _COLUMNS, topics, total)


TOPICS = SectionSpec("topics", {"topics": Question(_topics, KEPT)}, _make)
