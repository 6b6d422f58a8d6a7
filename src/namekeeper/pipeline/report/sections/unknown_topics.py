"""Topics without a route that clients asked for."""

from namekeeper.common.counts import shown_count
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import count_column
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_time
from namekeeper.pipeline.report.values import KEPT, Answers, Headline, ReportColumn, Row, Section, Severity

__all__ = ["UNKNOWN_TOPICS"]

_COLUMNS = (
    ReportColumn("name", "topic", is_subject=True),
    count_column("lookups", "asked for"),
    count_column("name_servers", "name servers"),
    ReportColumn("clients", "clients"),
    ReportColumn("first_minute", "first", shown_time),
    ReportColumn("last_minute", "last", shown_time),
)


def _unknown_topics(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.unknown_topics(about.tables, about.days, label=about.label, limit=limit)


def _make(answers: Answers, _zone: str) -> Section:
    found, total = answers["unknown_topics"]
    listed = [{**row, "name": _name(row), "clients": ", ".join(row["languages"] or ())} for row in found]
    lookups = sum(row["lookups"] for row in found)
    said = f"Clients asked {shown_count(lookups, 'time')} for topics that had no route"
    headline = Headline(Severity.NOTICE, said) if lookups else None
    if not lookups:
        said = "No client asked for a topic that had no route"
    title = "Topics without a route that were asked for"
    return Section("unknown-topics", title, headline, [f"{said}."], _COLUMNS, listed[:KEPT], total)


def _name(row: Row) -> str:
    """The topic, or the bucket that counts topics without a row of their own."""
    return row["topic"] if row["topic"] is not None else f"({row['bucket']})"


UNKNOWN_TOPICS = SectionSpec("unknown-topics", {"unknown_topics": Question(_unknown_topics)}, _make)
