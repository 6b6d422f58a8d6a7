"""The specification of a report section: its questions to the tables, its text, and its plot."""

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
    """The tables of a report, its days, and its time."""

    tables: AnswerTables
    days: Days = (None, None)
    """First and last day in the warehouse's time zone, both included; None: all days."""
    period: Period = Period(0, 0)
    label: str | None = None
    """Label of the clusters of name servers; None: all."""

    def ask(self, name: str, limit: int, **args: object) -> Answer:
        """Run a query on the days of the report."""
        first_day, last_day = self.days
        days = {"first_day": first_day, "last_day": last_day, "label": self.label}
        return self.tables.ask(name, args | days, limit=limit)


class Question(NamedTuple):
    """A question to the tables."""

    ask: Callable[[ReportTables, Answers, int], Answer]
    """Called with the tables, the answers to the earlier questions, and the limit."""
    limit: int = AT_MOST
    """Most rows of the answer."""


class SectionSpec(NamedTuple):
    """A section of the report."""

    name: str
    questions: Mapping[str, Question]
    """Name of the answer -> question; asked in this order. No two sections use one name."""
    make: Callable[[Answers, str], Section]
    """Makes the section from the answers by their names, with times in a zone."""
    draw: Callable[[Section, TimeScale], LanesPlot | ColumnsPlot | None] | None = None
    """Draws the `plot` rows of a section, at least one; None: the section has no plot."""
