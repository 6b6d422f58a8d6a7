"""The report as values: headlines, sections with a table and a plot, and columns."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from namekeeper.common.counts import shown_number
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.period import Period
from namekeeper.pipeline.report.times import shown_time

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
"""Most rows of a section; the tables have all of them."""
AT_MOST = 20_000
"""Most rows of an answer."""
LANES = 40
"""Most brokers, or subjects of disagreement, in a plot."""


class Severity(StrEnum):
    """How much a headline should worry the reader."""

    GOOD = "good"
    NOTICE = "notice"
    BAD = "bad"


class Headline(NamedTuple):
    """The main result of a section, for the head of the report."""

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
    """Whether it names the subject of a row: rows that differ only in this are joined."""

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
    """Number of further rows."""


class Section(NamedTuple):
    """A section: some sentences, a table, and the rows of its plot."""

    name: str
    title: str
    headline: Headline | None
    """None: it has no headline."""
    summary: Sequence[str]
    columns: Sequence[ReportColumn]
    rows: Sequence[Row]
    total: int
    """Number of all rows; `rows` has the first ones."""
    plot: Sequence[Row] = ()
    folds: Sequence[Fold] = ()
    """The rows in parts; empty if they are one table."""


class Report(NamedTuple):
    """A report as a value; `text`, `html` and JSON show it."""

    zone: str
    days: tuple[str, str] | None
    """The first and the last known day; None if nothing is known."""
    period: Period | None
    """The time of all plots; None if nothing is known."""
    name_servers: Sequence[Row]
    """Name servers: up to when each is known, and how much of its time is unknown."""
    sections: Sequence[Section]
    warehouse: str = ""
    """The place of its tables, as the user gave it."""
