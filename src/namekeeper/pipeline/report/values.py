"""What a report is, as values: headlines, sections with a table and a plot, and what columns show."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.period import Period
from namekeeper.pipeline.report.times import shown_number, shown_time

__all__ = [
    "AT_MOST",
    "KEPT",
    "LANES",
    "Answers",
    "Fold",
    "Headline",
    "Report",
    "ReportColumn",
    "Row",
    "Section",
    "Severity",
]

Row = Mapping[str, Any]
Answers = Mapping[str, Answer]
"""Name of a question -> its answer; see `report.query`."""

KEPT = 1_000
"""Rows of a section that it has at most; the tables have all of them."""
AT_MOST = 20_000
"""Rows that are asked for at most."""
LANES = 40
"""Brokers, or subjects of disagreement, that a plot shows at most."""


class Severity(StrEnum):
    """How much a headline should worry the reader."""

    GOOD = "good"
    NOTICE = "notice"
    BAD = "bad"


class Headline(NamedTuple):
    """What a section says, in a few words for the head of the report."""

    severity: Severity
    text: str


def _shown(value: object, _zone: str) -> str:
    if value is None:
        return ""
    return shown_number(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


class ReportColumn(NamedTuple):
    """A column of a section's table."""

    name: str
    title: str
    show: Callable[[Any, str], str] = _shown
    """Value and time zone to text."""
    is_number: bool = False
    is_subject: bool = False
    """Whether it names what a row is about: rows that differ in this alone are shown as one."""

    @property
    def is_time(self) -> bool:
        """Whether it has instants."""
        return self.show is shown_time


class Fold(NamedTuple):
    """Rows of a section that are shown and hidden together."""

    title: str
    summary: str
    rows: Sequence[Row]
    more: int
    """Rows there are besides."""


class Section(NamedTuple):
    """A section: some sentences, a table, and what its plot shows."""

    name: str
    title: str
    headline: Headline | None
    """None: it has nothing to say in the head of the report."""
    summary: Sequence[str]
    columns: Sequence[ReportColumn]
    rows: Sequence[Row]
    total: int
    """Rows there are; of these the first ones are in `rows`."""
    plot: Sequence[Row] = ()
    folds: Sequence[Fold] = ()
    """The same rows in parts; none: they are one table."""


class Report(NamedTuple):
    """A report as a value; `text`, `html` and JSON show it."""

    zone: str
    days: tuple[str, str] | None
    """The first and the last day of which something is known; None: there is nothing."""
    period: Period | None
    """The time that all plots show; None: there is nothing."""
    name_servers: Sequence[Row]
    """Up to when each is known, and how much of it is unknown."""
    sections: Sequence[Section]
    warehouse: str = ""
    """Where its tables are, as the user calls it."""
