"""`namekeeper pipeline tables`: what the tables of a warehouse and their columns mean."""

import json
import re
from collections.abc import Iterable

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import echo, json_option
from namekeeper.cli.spark import refusals
from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable_json
from namekeeper.pipeline.entry.ddl import ddl_of_views
from namekeeper.pipeline.entry.readable import READABLE_VIEWS
from namekeeper.pipeline.entry.views import ENTRY_VIEWS, VIEWS
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.stores import open_store
from namekeeper.pipeline.table import Table
from namekeeper.pipeline.units import unit_of

__all__ = ["tables"]

_NAMESPACE = re.compile(r"[\w-]+(?:\.[\w-]+)*", re.ASCII)
_TABLES = {**ENTRY_VIEWS, **GOLD, **FACTS, **READABLE_VIEWS}


@click.command("tables", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False)
@json_option()
@click.option(
    "--ddl",
    is_flag=True,
    help="Print statements of Spark's SQL that make the views of a warehouse in a catalog.",
)
@click.option("--warehouse", metavar="URI", help="The warehouse, with --ddl.")
@click.option(
    "--namespace",
    help="Catalog and namespace, as in nk.views, in which --ddl makes persistent views. Without it they are"
    " temporary.",
)
def tables(
    name: str | None, *, as_json: bool, ddl: bool, warehouse: str | None, namespace: str | None
) -> None:
    """List the views and tables of a warehouse, or say what NAME and each of its columns mean.

    It needs no warehouse. docs/reference/warehouse.md has the same, and what holds for all tables.
    """
    if name is not None and name not in _TABLES:
        raise CommandRefused(f"there is no table {name!r}{did_you_mean(name, _TABLES)}")
    if ddl != (warehouse is not None) or (as_json if ddl else namespace is not None):
        raise click.UsageError("--ddl needs --warehouse, may have --namespace, and has no --json")
    chosen = list(_TABLES.values()) if name is None else [_TABLES[name]]
    if warehouse is not None:
        _show_statements(chosen, warehouse, namespace)
    elif as_json:
        echo(printable_json(json.dumps([_value(table) for table in chosen], indent=2)))
    elif name is None:
        for table in chosen:
            echo(f"{table.name}: {table.meaning.partition('. ')[0].rstrip('.')}")
    else:
        _describe(chosen[0])


def _show_statements(chosen: Iterable[Table], warehouse: str, namespace: str | None) -> None:
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        raise CommandRefused(f"{namespace!r} is no namespace: it is like nk.views")
    with refusals():
        manifest = open_store(open_folder(warehouse)).version().manifest
    if manifest.catalog is None:
        raise CommandRefused(
            f"{warehouse} has its tables in files: `namekeeper sql` has the views, and in Spark"
            " SparkTables(...).create_entry_views() and create_readable_views() make them"
        )
    views = [table.name for table in chosen if table.name in VIEWS]
    if not views:
        raise CommandRefused("only views have statements: entry views, and those that begin with readable_")
    for statement in ddl_of_views(views, manifest.catalog.namespace, manifest.report_time_zone, namespace):
        echo(f"{statement};\n")


def _describe(table: Table) -> None:
    echo(table.meaning)
    key = f"; its key is {', '.join(table.key)}" if table.key else ""
    echo(f"A row is {table.grain}{key}.")
    for column in table.columns:
        unit = unit_of(column)
        echo(f"  {column.name} {column.type}{f' ({unit})' if unit else ''}: {column.meaning}")


def _value(table: Table) -> dict[str, object]:
    columns = [{**column._asdict(), "unit": unit_of(column)} for column in table.columns]
    return {**table._asdict(), "columns": columns}
