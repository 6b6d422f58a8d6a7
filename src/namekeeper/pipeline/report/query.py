"""The request for a report, and the questions to a warehouse that answer it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from namekeeper.pipeline.answers.queries import Answer, AnswerTables
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.report.contents import BOOTS, SECTIONS, make_report, times_of_boots
from namekeeper.pipeline.report.period import Period, period_of
from namekeeper.pipeline.report.specification import ReportTables
from namekeeper.pipeline.report.values import Report

__all__ = ["ReportQuery", "collect_report"]


class ReportQuery(NamedTuple):
    """The request for a report."""

    sections: Sequence[str]
    first_day: str | None = None
    last_day: str | None = None
    """First and last day in the warehouse's time zone, both included; None: all days."""
    warehouse: str = ""
    """The place of the tables, as the user gave it."""
    label: str | None = None
    """Label of the clusters of name servers; None: all."""


def collect_report(
    tables: AnswerTables, query: ReportQuery, progress: Callable[[str, int, int], None] = lambda *_: None
) -> Report:
    """Ask a warehouse all questions of a report, and make the report.

    Args:
        tables: The warehouse as it is now.
        query: The request.
        progress: Called with the present question, the number of answered questions, and of all questions.

    Raises:
        WarehouseError: No name server has the label.
    """
    zone = tables.report_time_zone
    days = (query.first_day, query.last_day)
    answers: dict[str, Answer] = {BOOTS: _boots(tables, query.label)}
    period = period_of(times_of_boots(answers[BOOTS].rows), days, zone)
    about = ReportTables(tables, days, period or Period(0, 0), query.label)
    questions = [pair for name in query.sections for pair in SECTIONS[name].questions.items()]
    for done, (name, question) in enumerate(questions):
        progress("asking the tables", done, len(questions))
        answers[name] = question.ask(about, answers, question.limit)
    progress("asking the tables", len(questions), len(questions))
    return make_report(zone, query.sections, answers, days, query.warehouse)


def _boots(tables: AnswerTables, label: str | None) -> Answer:
    """The boots of the name servers, of those that belong to a label if there is one."""
    found = tables.ask("name_server_boot", {"namesrv": None})
    if label is None:
        return found
    labelled = tables.ask("labelled_name_server", {}).rows
    names = {row["namesrv"] for row in labelled if row["cluster_label"] == label}
    if not names:
        labels = sorted({row["cluster_label"] for row in labelled})
        there = (
            f"the labels are {', '.join(labels)}" if labels else "no name server has a label (clusterLabel)"
        )
        raise WarehouseError(f"there is no cluster {label!r}: {there}")
    rows = [row for row in found.rows if row["namesrv"] in names]
    return Answer(rows, len(rows))
