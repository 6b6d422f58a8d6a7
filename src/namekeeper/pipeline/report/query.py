"""What a report shall be about, and asking a warehouse for it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from namekeeper.pipeline.answers.queries import Answer, AnswerTables
from namekeeper.pipeline.report.contents import BOOTS, SECTIONS, make_report, times_of_boots
from namekeeper.pipeline.report.period import Period, period_of
from namekeeper.pipeline.report.specification import ReportTables
from namekeeper.pipeline.report.values import Report

__all__ = ["ReportQuery", "collect_report"]


class ReportQuery(NamedTuple):
    """What a report shall be about."""

    sections: Sequence[str]
    first_day: str | None = None
    last_day: str | None = None
    """Days of the warehouse's time zone, both included; None: all there are."""
    warehouse: str = ""
    """Where the tables are, as the user calls it."""


def collect_report(
    tables: AnswerTables, query: ReportQuery, progress: Callable[[str, int, int], None] = lambda *_: None
) -> Report:
    """Ask a warehouse for what a report needs, and make the report.

    Args:
        tables: The warehouse as it is now.
        query: What is wanted.
        progress: Called with what is done, how many questions were answered, and how many there are.
    """
    zone = tables.report_time_zone
    days = (query.first_day, query.last_day)
    answers: dict[str, Answer] = {BOOTS: tables.ask("name_server_boot", {"namesrv": None})}
    period = period_of(times_of_boots(answers[BOOTS].rows), days, zone)
    about = ReportTables(tables, days, period or Period(0, 0))
    questions = [pair for name in query.sections for pair in SECTIONS[name].questions.items()]
    for done, (name, question) in enumerate(questions):
        progress("asking the tables", done, len(questions))
        answers[name] = question.ask(about, answers, question.limit)
    progress("asking the tables", len(questions), len(questions))
    return make_report(zone, query.sections, answers, days, query.warehouse)
