"""`namekeeper sql`: the user's own queries of a warehouse, without Spark."""

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import echo, note
from namekeeper.cli.spark import pairs, refusals
from namekeeper.common.printable import printable, printable_json

if TYPE_CHECKING:
    from namekeeper.pipeline.answers.duck_tables import DuckTables, FoundRows

__all__ = ["sql"]

SHOWN = 1_000
"""Most rows of a table for people."""
_FORMS = ("table", "json", "csv", "arrow")
_FROM_STDIN = "-"


@click.command("sql", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("query", required=False)
@click.option("--warehouse", required=True, metavar="URI", help="Tables that `namekeeper pipeline run` made.")
@click.option(
    "--format", "form", type=click.Choice(_FORMS), default="table", show_default=True,
    help=f"A table has the first {SHOWN:,} rows, the other forms have all. json is a line for each row, "
    "arrow a stream.",
)  # fmt: skip
@click.option(
    "--arg", "args", multiple=True, metavar="NAME=VALUE", callback=pairs,
    help="The text for a parameter $NAME of the query; may be repeated.",
)  # fmt: skip
@click.option(
    "--shell",
    is_flag=True,
    help="Run queries from the terminal or stdin, each up to a line that ends with a semicolon.",
)
def sql(query: str | None, *, warehouse: str, form: str, args: Mapping[str, str], shell: bool) -> None:
    """Run a QUERY of your own on the tables of a warehouse: SELECT, FROM, WITH, DESCRIBE, SUMMARIZE or SHOW.

    DuckDB runs it, so it takes no Java. All views and tables are there, also those without rows: SHOW TABLES
    lists them, and docs/reference/warehouse.md says what they mean. Times of tables are ms since 1970.
    readable_topic_route is topic_route with timestamps in the time zone of the warehouse, and so on; SHOW
    TABLES leaves these views out. A QUERY of - is read from stdin.
    """
    if shell == (query is not None):
        raise click.UsageError("give a query, or --shell")
    with refusals():
        tables = _open(warehouse)
        if query is None:
            _ask_for_queries(tables)
            return
        query = sys.stdin.read() if query == _FROM_STDIN else query
        if form == "arrow":
            _write_arrow(tables, query, args)
        else:
            _WRITERS[form](tables.select(query, args))


def _open(warehouse: str) -> "DuckTables":
    """The tables of a warehouse.

    Raises:
        CommandRefused: they are in a catalog.
    """
    from namekeeper.pipeline.answers.duck_tables import DuckTables
    from namekeeper.pipeline.answers.warehouse import open_warehouse
    from namekeeper.pipeline.store.parquet_store import ParquetReader

    reader = open_warehouse(warehouse)
    if not isinstance(reader, ParquetReader):
        raise CommandRefused(
            f"{warehouse} has its tables in a catalog of Spark: ask Spark, as in"
            " docs/howto/ask-your-own-question.md"
        )
    return DuckTables(reader)


def _ask_for_queries(tables: "DuckTables") -> None:
    """Run the queries of stdin; on a terminal, Ctrl-C ends a query, and not the command."""
    from namekeeper.pipeline.errors import PipelineError

    query = ""
    while True:
        try:
            line = _line("  > " if query else "sql> ")
            query += line
            if line and not line.rstrip().endswith(";"):
                continue
            if query.strip(" \n;"):
                _write_table(tables.select(query, {}))
            if not line:
                return
        except PipelineError as error:
            note(str(error))
        except KeyboardInterrupt:
            if not sys.stdin.isatty():
                raise
            note("")
        query = ""


def _line(prompt: str) -> str:
    """The next line of stdin, with its end; empty after the last one. On a terminal the user can edit it."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    import readline  # noqa: F401 - input() uses it then

    try:
        return input(prompt) + "\n"
    except EOFError:
        note("")
        return ""


def _write_table(found: "FoundRows") -> None:
    """Print the first rows, aligned."""
    rows = iter(found)
    shown = [[_cell(value) for value in row] for row in islice(rows, SHOWN)]
    names = [printable(name) for name in found.columns]
    widths = [max(map(cell_len, column)) for column in zip(names, *shown, strict=True)]
    echo(_aligned(names, widths))
    echo("  ".join("-" * width for width in widths))
    for row in shown:
        echo(_aligned(row, widths))
    if next(rows, None) is not None:
        note(f"these are the first {SHOWN:,} rows: --format csv or json writes all")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _cell(value: object) -> str:
    return "-" if value is None else printable(_text(value))


def _text(value: object) -> str:
    """A value as text: lists and structs as JSON."""
    return (
        json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
    )


def _write_json(found: "FoundRows") -> None:
    for row in found:
        values = dict(zip(found.columns, row, strict=True))
        click.echo(printable_json(json.dumps(values, default=str, ensure_ascii=False)))


def _write_csv(found: "FoundRows") -> None:
    """Write rows with commas, as programs read them: an unknown value is empty."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(["" if value is None else _text(value) for value in row] for row in found)


def _write_arrow(tables: "DuckTables", query: str, args: Mapping[str, str]) -> None:
    if sys.stdout.isatty():
        raise CommandRefused("a stream of Arrow is not for a terminal: send it to a file or a program")
    tables.write_arrow(query, args, sys.stdout.buffer)


_WRITERS: Mapping[str, Callable[["FoundRows"], None]] = {
    "table": _write_table,
    "json": _write_json,
    "csv": _write_csv,
}
