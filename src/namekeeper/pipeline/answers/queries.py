"""The queries of the answers: files in `answers/sql`, with headers as those of gold.

They are SQL that both Spark and DuckDB understand. Input of users is passed as a parameter (`:topic`) and
never becomes text of a query. None as a bound means no bound.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple, Protocol

from namekeeper.pipeline.gold.sql_file import View, parse_view

__all__ = ["Answer", "AnswerTables", "Row", "query", "query_names"]

_PHASE = "answers"

Row = Mapping[str, Any]


class Answer(NamedTuple):
    """Rows that answer a query."""

    rows: Sequence[Row]
    total: int
    """Number of all rows; `rows` has the first ones."""


class AnswerTables(Protocol):
    """Tables of a warehouse as they are at one instant, on an engine that runs the queries."""

    report_time_zone: str
    """Zone that defines what a day is."""

    def ask(self, name: str, args: Mapping[str, Any], *, limit: int | None = None) -> Answer:
        """Run a query.

        Args:
            name: Of the query.
            args: Its parameters; others than these are ignored.
            limit: Take this many rows at most; None: all.

        Raises:
            PipelineError: The tables can't be read.
        """


@cache
def query(name: str) -> View:
    """A query by its name: that of its file, without ending."""
    return parse_view(name, _PHASE, (_folder() / f"{name}.sql").read_text(encoding="utf-8"))


def query_names() -> list[str]:
    """The names of all queries."""
    return sorted(file.name.removesuffix(".sql") for file in _folder().iterdir())


def _folder() -> Traversable:
    return files("namekeeper.pipeline.answers") / "sql"
