"""Columns and words that several sections of the report share."""

from collections.abc import Sequence

from namekeeper.pipeline.report.times import shown_count, shown_milliseconds
from namekeeper.pipeline.report.values import AT_MOST, ReportColumn, Row

__all__ = ["BROKER_COLUMNS", "count_of_rows", "duration_column"]

BROKER_COLUMNS = (
    ReportColumn("cluster", "cluster"),
    ReportColumn("broker_name", "broker name"),
    ReportColumn("broker_id", "id", is_number=True),
)


def duration_column(name: str, title: str) -> ReportColumn:
    """A column of durations in ms."""
    return ReportColumn(name, title, lambda value, _zone: shown_milliseconds(value), is_number=True)


def count_of_rows(rows: Sequence[Row], noun: str, limit: int = AT_MOST) -> str:
    """How many rows there are, or at least are if the limit of the question was reached."""
    return f"at least {limit} {noun}s" if len(rows) >= limit else shown_count(len(rows), noun)
