"""What a section of the report is: its questions to the tables, what it says of the answers, and its plot."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from namekeeper.pipeline.answers.daily import Days
from namekeeper.pipeline.answers.queries import Answer, AnswerTables
from namekeeper.pipeline.report.period import Period
from namekeeper.pipeline.report.plots import ColumnsPlot, LanesPlot
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.values import AT_MOST, Answers, Section

__all__ = ["Question", "ReportTables", "SectionSpec"]


class ReportTables(NamedTuple):
    """The tables that a report is about, its days, and its time."""

    tables: AnswerTables
    days: Days = (None, None)
    """Days of the warehouse's time zone, both included; None: all there are."""
    period: Period = Period(0, 0)

    def ask(self, name: str, limit: int, **args: object) -> Answer:
        """Run a query on the days of the report."""
        first_day, last_day = self.days
        return self.tables.ask(name, {"first_day": first_day, "last_day": last_day, **args}, limit=limit)


class Question(NamedTuple):
    """A question to the tables."""

    ask: Callable[[ReportTables, Answers, int], Answer]
    """Gets the tables, the answers to the questions before, and the limit."""
    limit: int = AT_MOST
    """Rows that are taken at most."""


class SectionSpec(NamedTuple):
    """A section of the report."""

    name: str
    questions: Mapping[str, Question]
    """Name of the answer -> question; asked in this order. No two sections use one name."""
    make: Callable[[Answers, str], Section]
    """Makes the section of the answers, by their names, with times of a zone."""
    draw: Callable[[Section, TimeScale], LanesPlot | ColumnsPlot | None] | None = None
    """Draws the `plot` rows of a section, which are at least one; None: the section has no plot."""
