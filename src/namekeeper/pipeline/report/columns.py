"""Columns and words that several sections of the report share."""

from namekeeper.pipeline.report.times import shown_milliseconds
from namekeeper.pipeline.report.values import ReportColumn

__all__ = ["BROKER_COLUMNS", "duration_column"]

BROKER_COLUMNS = (
    ReportColumn("cluster", "cluster"),
    ReportColumn("broker_name", "broker name"),
    ReportColumn("broker_id", "id", is_number=True),
)


def duration_column(name: str, title: str) -> ReportColumn:
    """A column of durations in ms."""
    return ReportColumn(name, title, lambda value, _zone: shown_milliseconds(value), is_number=True)
