"""What a warehouse in a catalog lives through, beside one of files: a program for a Spark of another release.

    python -m tests.spark.catalog_runs FOLDER PLACE

FOLDER/journal-1 has the records of the first run, FOLDER/journal-2 those of the second. What was seen goes
to FOLDER/seen.json; the test that started it judges.
"""

import json
from pathlib import Path
from typing import Any
from unittest import mock

import click.testing
from pyspark.sql import SparkSession

from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.answers.warehouse import open_warehouse
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.run import Request, RunResult, run_once
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.catalog_store import CatalogTransaction
from namekeeper.pipeline.store.table_store import TableReader
from tests.spark.catalog_trials import in_folder, timed
from tests.spark.dying import DiedError, dying

NOT_COMPARED = {"load_id", "file"}
"""A run that died has had a load id; of a record that two files have, a warehouse notes either."""

Tables = dict[str, list[str]]


class CatalogRuns:
    """Two warehouses, and what was seen of them."""

    def __init__(self, spark: SparkSession, folder: Path, location: str) -> None:
        self.spark = spark
        self.folder = folder
        self.location = location
        self.namespace = ".".join(f"`{part}`" for part in location.partition(":")[2].split("."))
        self.files, self.catalog = str(folder / "files"), str(folder / "catalog")
        self.seen: dict[str, Any] = {}
        self.steps: list[str] = []
        """Those of the last run, in order."""

    def live(self) -> dict[str, Any]:
        """All of it; returns what was seen."""
        self.run(self.files, 1, 2)
        self.run(self.catalog, 1)
        names = self.spark.sql(f"SHOW TABLES IN {self.namespace}").collect()
        self.seen["missing after the first run"] = sorted({*FACTS, *GOLD} - {row.tableName for row in names})
        before = self.rows(open_warehouse(self.catalog))
        dies = dying(CatalogTransaction.replace, at=12)
        with mock.patch.object(CatalogTransaction, "replace", dies):
            try:
                self.run(self.catalog, 1, 2)
            except DiedError:
                self.seen["died"] = True
        now = self.rows(open_warehouse(self.catalog))
        self.seen["seen of the dead"] = [name for name in before if before[name] != now[name]]
        self.seen["left of the dead"] = self.left("events") - len(before["events"])
        self.run(self.catalog, 1, 2)
        mine, theirs = (self.rows(open_warehouse(each)) for each in (self.catalog, self.files))
        self.seen["different"] = [name for name in theirs if mine[name] != theirs[name]]
        self.seen["rows"] = {name: len(rows) for name, rows in theirs.items()}
        self.seen["loads when nothing is new"] = len(self.run(self.catalog, 1, 2).loads)
        self.ask()
        return self.seen

    def run(self, warehouse: str, *journals: int) -> RunResult:
        """One run over some of the journals."""
        location = self.location if warehouse == self.catalog else None
        uris = [str(self.folder / f"journal-{number}") for number in journals]
        request = Request(uris, warehouse, tables=location)
        steps: dict[str, None] = {}
        with timed(f"a run of {Path(warehouse).name} over {journals}"):
            outcome = run_once(request, lambda: self.spark, lambda what, *_: steps.setdefault(what))
        self.steps = list(steps)
        return outcome

    def left(self, table: str) -> int:
        """How many rows a table has for other engines: with what a run that died has left."""
        name = f"{self.namespace}.`{table}`"
        if not self.spark.catalog.tableExists(name):
            return 0
        self.spark.sql(f"REFRESH TABLE {name}").collect()
        return self.spark.table(name).count()

    def rows(self, tables: TableReader) -> Tables:
        """Every row of every table."""
        with timed("reading every table"):
            return {table.name: self.rows_of(tables, table) for table in (*FACTS.values(), *GOLD.values())}

    def rows_of(self, tables: TableReader, table: Any) -> list[str]:
        """Every row of a table, as text."""
        rows = tables.table(self.spark, table).drop(*NOT_COMPARED)
        return sorted(json.dumps(row.asDict(recursive=True), sort_keys=True) for row in rows.collect())

    def ask(self) -> None:
        """Every command that reads a warehouse."""
        topic = json.loads((self.folder / "topic.json").read_text())
        for arguments in (
            ("pipeline", "check", "--json"),
            ("why", topic, "--json"),
            ("route-at", topic, "--json"),
            ("report", "changes", "--format", "json"),
        ):
            with timed(" ".join(arguments)):
                mine, theirs = (self.command(each, *arguments) for each in (self.catalog, self.files))
            self.seen[f"answer to {arguments[0]}"] = [mine == theirs, *mine]

    def command(self, warehouse: str, *arguments: str) -> tuple[int, str]:
        """What a command ends with and prints, the place of the warehouse aside; it finds this session."""
        done = click.testing.CliRunner().invoke(namekeeper, [*arguments, "--warehouse", warehouse])
        return done.exit_code, done.stdout.replace(json.dumps(warehouse), '"the warehouse"')


if __name__ == "__main__":
    in_folder(lambda spark, folder, location: CatalogRuns(spark, folder, location).live())
