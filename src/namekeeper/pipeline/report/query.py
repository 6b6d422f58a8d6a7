"""What a report shall be about, and asking a warehouse for it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.report.contents import BOOTS, SECTIONS, make_report
from namekeeper.pipeline.report.specification import ReportTables
from namekeeper.pipeline.report.values import Report, Row
from namekeeper.pipeline.store.table_store import TableReader

__all__ = ["ReportQuery", "collect_report"]


class ReportQuery(NamedTuple):
    """What a report shall be about."""

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
        progress: Called with what is done, how many questions were answered, and how many there are.
    """
    about = ReportTables(spark, tables, query.first_day, query.last_day)
    questions = [pair for name in query.sections for pair in SECTIONS[name].questions.items()]
    rows: dict[str, Sequence[Row]] = {}
    for done, (name, question) in enumerate(questions):
        progress("asking the tables", done, len(questions))
        found = question.ask(about, rows)
        rows[name] = () if found is None else _collected(found.limit(question.limit))
    progress("asking the tables", len(questions), len(questions))
    rows[BOOTS] = _collected(about.table("name_server_session"))
    return make_report(tables.report_time_zone, query.sections, rows, about.days)


def _collected(rows: DataFrame) -> list[Row]:
    return [row.asDict(recursive=True) for row in rows.collect()]
