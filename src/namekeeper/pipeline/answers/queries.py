"""The queries of the answers: files in `answers/sql`, with headers as those of gold.

They are SQL that both Spark and DuckDB understand. Input of users is passed as a parameter (`:topic`) and
never becomes text of a query. None as a bound means no bound.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template
from typing import Any, NamedTuple, Protocol

from namekeeper.pipeline.contract import TABLES
from namekeeper.pipeline.gold.sql_file import View, parse_view
from namekeeper.pipeline.row_columns import row_columns, with_columns
from namekeeper.pipeline.schema import FACTS

__all__ = ["NO_BOUNDS", "RECORDED", "Answer", "AnswerTables", "Row", "query", "query_names"]

_PHASE = "answers"
_TEMPLATE = "recorded"

RECORDED: Mapping[str, str] = {
    f"recorded_{table.kinds[0]}": name
    for name, table in TABLES.items()
    if table.kind_class == "state" and name != "cluster_row"
}
"""Query -> fact table whose recorded rows it finds; none for clusters, because broker groups have theirs."""

NO_BOUNDS: Mapping[str, None] = dict.fromkeys(("first_day", "last_day", "label", "namesrv"))
"""Parameters that may be left out."""

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
            args: Its parameters; others than these are ignored. One of `NO_BOUNDS` may be left out.
            limit: Take this many rows at most; None: all.

        Raises:
            PipelineError: The tables can't be read.
        """


@cache
def query(name: str) -> View:
    """A query by its name: that of its file, without ending."""
    text = _recorded(RECORDED[name]) if name in RECORDED else _read(name)
    return parse_view(name, _PHASE, with_columns(text))


def query_names() -> list[str]:
    """The names of all queries."""
    files_of_queries = {file.name.removesuffix(".sql") for file in _folder().iterdir()}
    return sorted(files_of_queries - {_TEMPLATE} | set(RECORDED))


def _recorded(table: str) -> str:
    """The text of the query for the rows of a fact table."""
    in_record = FACTS[table].key
    key = [column.name for column in row_columns(table, "key")]
    about = [f"f.{name} = :name" for name in key if {"topic", "broker_name"} <= {*key}]
    return Template(_read(_TEMPLATE)).substitute(
        table=table,
        about=" OR ".join([":name IS NULL", *about]) if about else "true",
        order=", ".join(f"f.{name}" for name in ("namesrv", "boot", "place", "seq", *in_record[3:])),
    )


def _read(name: str) -> str:
    return (_folder() / f"{name}.sql").read_text(encoding="utf-8")


def _folder() -> Traversable:
    return files("namekeeper.pipeline.answers") / "sql"
