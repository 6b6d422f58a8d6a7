"""What a section of the report is: its questions to the tables, what it says of the answers, and its plot."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.answers.warehouse import table
from namekeeper.pipeline.report.values import AT_MOST, Row, Rows, Section
from namekeeper.pipeline.store.table_store import TableReader

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing", "Question", "ReportTables", "SectionSpec"]


class ReportTables(NamedTuple):
    """The tables that a report is about, and its days."""

    spark: SparkSession
    reader: TableReader
    first_day: str | None = None
    last_day: str | None = None
    """Days of the warehouse's time zone, both included; None: all there are."""

    @property
    def days(self) -> tuple[str | None, str | None]:
        """The first and the last day."""
        return self.first_day, self.last_day

    def table(self, name: str) -> DataFrame:
        """All rows of a table."""
        return table(self.spark, self.reader, name)

    def of_days(self, name: str, day: str = "day") -> DataFrame:
        """Rows of a table whose column `day` is within the days of the report."""
        rows = self.table(name)
        rows = rows if self.first_day is None else rows.where(fn.col(day) >= self.first_day)
        return rows if self.last_day is None else rows.where(fn.col(day) <= self.last_day)


class Question(NamedTuple):
    """A question to the tables."""

    ask: Callable[[ReportTables, Rows], DataFrame | None]
    """Gets the tables and the answers to the questions before. None: there is nothing to ask, so no rows."""
    limit: int = AT_MOST
    """Rows that are taken at most."""


class Drawing(NamedTuple):
    """A figure, and what it shows in words."""

    figure: "Figure"
    alternative: str


class SectionSpec(NamedTuple):
    """A section of the report."""

    name: str
    questions: Mapping[str, Question]
    """Name of the answer -> question; asked in this order. No two sections use one name."""
    make: Callable[[Rows], Section]
    """Makes the section of the answers, by their names."""
    draw: Callable[[Sequence[Row], ZoneInfo], Drawing] | None = None
    """Draws the `plot` rows of the section, which are at least one; None: the section has no plot."""
