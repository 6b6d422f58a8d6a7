"""What a report is, as values: sections with sentences, a table and a plot, and how columns show values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.times import shown_time

__all__ = ["AT_MOST", "LANES", "SHOWN", "Answers", "Report", "ReportColumn", "Row", "Section"]

Row = Mapping[str, Any]
Answers = Mapping[str, Answer]
"""Name of a question -> its answer; see `report.query`."""

SHOWN = 200
"""Rows of a section that are shown at most; the tables have all of them."""
AT_MOST = 20_000
"""Rows that are asked for at most."""
LANES = 40
"""Brokers, or subjects of disagreement, that a plot shows at most."""


class ReportColumn(NamedTuple):
    """A column of a section's table."""

    name: str
    title: str
    show: Callable[[Any, str], str] = lambda value, _zone: "" if value is None else str(value)
    """Value and time zone to text."""
    is_number: bool = False

    @property
    def is_time(self) -> bool:
        """Whether it has instants."""
        return self.show is shown_time


class Section(NamedTuple):
    """A section: some sentences, a table, and what its plot shows."""

    name: str
    title: str
    summary: Sequence[str]
    columns: Sequence[ReportColumn]
    rows: Sequence[Row]
    total: int
    """Rows there are; of these the first ones are in `rows`."""
    plot: Sequence[Row] = ()


class Report(NamedTuple):
    """A report as a value; `text`, `html` and JSON show it."""

    zone: str
    days: tuple[str, str] | None
    """The first and the last day of which something is known; None: there is nothing."""
    name_servers: Sequence[Row]
    """Up to when each is known, and how much of it is unknown."""
    sections: Sequence[Section]
