"""`namekeeper pipeline tables`: what the tables of a warehouse and their columns mean."""

import json

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import echo, json_option
from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable_json
from namekeeper.pipeline.entry.readable import READABLE_VIEWS
from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import Table
from namekeeper.pipeline.units import unit_of

__all__ = ["tables"]

_TABLES = {**ENTRY_VIEWS, **GOLD, **FACTS, **READABLE_VIEWS}


@click.command("tables", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False)
@json_option()
def tables(name: str | None, *, as_json: bool) -> None:
    """List the views and tables of a warehouse, or say what NAME and each of its columns mean.

    It needs no warehouse. docs/reference/warehouse.md has the same, and what holds for all tables.
    """
    if name is not None and name not in _TABLES:
        raise CommandRefused(f"there is no table {name!r}{did_you_mean(name, _TABLES)}")
    chosen = list(_TABLES.values()) if name is None else [_TABLES[name]]
    if as_json:
        echo(printable_json(json.dumps([_value(table) for table in chosen], indent=2)))
    elif name is None:
        for table in chosen:
            echo(f"{table.name}: {table.meaning.partition('. ')[0].rstrip('.')}")
    else:
        _describe(chosen[0])


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
