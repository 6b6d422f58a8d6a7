"""Topics that could not be written to for some time."""

from collections.abc import Sequence

from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import CLUSTER, LABEL, UNCERTAIN, duration_column, window_column
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.values import KEPT, Answers, Headline, ReportColumn, Row, Section, Severity

__all__ = ["TOPICS"]

_COLUMNS = (
    LABEL,
    CLUSTER,
    ReportColumn("topic", "topic", is_subject=True),
    duration_column("writable_ms", "writable"),
    duration_column("unwritable_ms", "not writable"),
    duration_column("no_route_ms", "no route"),
    duration_column("unknown_ms", "unknown"),
    window_column("uncertain_ms", "uncertain"),
    ReportColumn("worst_namesrv", "worst at"),
    duration_column("worst_ms", "not writable there"),
)


def _topics(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.topic_availability(about.tables, about.days, label=about.label, least_ms=1, limit=limit)


def _make(answers: Answers, _zone: str) -> Section:
    topics, total = answers["topics"]
    said = f"{shown_count(total, 'topic')} could not be written to for some time"
    headline = (
        Headline(Severity.BAD, said) if total else Headline(Severity.GOOD, "Every topic could be written to")
    )
    title = "Topics without a writable queue"
    uncertain = [UNCERTAIN] if any(row["uncertain_ms"] for row in topics) else []
    summary = [f"{said}.", *_hints(topics), *uncertain]
    return Section("topics", title, headline, summary, _COLUMNS, topics, total)


def _hints(topics: Sequence[Row]) -> list[str]:
    """Describe the view of clients of a single name server: the times are those of the best one."""
    worse = [row for row in topics if (row["worst_ms"] or 0) > row["unwritable_ms"] + row["no_route_ms"]]
    if not worse:
        return []
    row = max(worse, key=lambda row: row["worst_ms"])
    return [
        "These are the times in which no name server had a queue to write to.",
        f"At {row['worst_namesrv']} {row['topic']} had none for {shown_duration(row['worst_ms'])}.",
    ]


TOPICS = SectionSpec("topics", {"topics": Question(_topics, KEPT)}, _make)
