"""Topics without a route that clients asked for."""

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_time
from namekeeper.pipeline.report.values import SHOWN, Answers, ReportColumn, Row, Section

__all__ = ["UNKNOWN_TOPICS"]

_COLUMNS = (
    ReportColumn("name", "topic"),
    ReportColumn("lookups", "asked for", is_number=True),
    ReportColumn("name_servers", "name servers", is_number=True),
    ReportColumn("clients", "clients"),
    ReportColumn("first_minute", "first", shown_time),
    ReportColumn("last_minute", "last", shown_time),
)


def _unknown_topics(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.unknown_topics(about.tables, about.days, limit=limit)


def _make(answers: Answers) -> Section:
    found, total = answers["unknown_topics"]
    listed = [{**row, "name": _name(row), "clients": ", ".join(row["languages"] or ())} for row in found]
    lookups = sum(row["lookups"] for row in found)
    summary = [f"Clients asked {shown_count(lookups, 'time')} for topics that had no route."]
    title = "Topics without a route that were asked for"
    return Section("unknown-topics", title, summary, _COLUMNS, listed[:SHOWN], total, listed)


def _name(row: Row) -> str:
    """The topic, or the bucket that counts for topics without a row of their own."""
    return row["topic"] if row["topic"] is not None else f"({row['bucket']})"


UNKNOWN_TOPICS = SectionSpec("unknown-topics", {"unknown_topics": Question(_unknown_topics)}, _make)
