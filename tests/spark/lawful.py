"""One warehouse for several test modules: dozens of made-up name servers in one run of the pipeline."""

import os
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from namekeeper.pipeline.answers.warehouse import open_warehouse, table
from namekeeper.pipeline.run import Request, run_once
from tests.support.history.histories import histories
from tests.support.history.pieces import pieces
from tests.support.journal.segments import write_segment
from tests.support.pipeline.law import Law

__all__ = ["SEED", "WORLDS", "Lawful"]

SEED = int(os.environ.get("NAMEKEEPER_LAW_SEED", "4242"))
WORLDS = int(os.environ.get("NAMEKEEPER_LAW_WORLDS", "24"))
"""Each has one to three name servers; at night there are five times as many."""


class Lawful:
    """The warehouse, and what is true of it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.law = Law(histories(SEED, WORLDS))
        self.journal, self.uri = folder / "journal", str(folder / "warehouse")
        rng = random.Random(SEED)
        for each in self.law.histories:
            for records in each.records.values():
                self._write(records, rng)
        self.outcome = run_once(Request([str(self.journal)], self.uri), lambda: spark, lambda *_: None)
        self.tables = open_warehouse(self.uri)

    def _write(self, records: Sequence[Mapping[str, Any]], rng: random.Random) -> None:
        """A segment for each boot; of some two, since a file costs Spark more than its records."""
        of_boot: dict[int, list[Any]] = {}
        for record in records:
            of_boot.setdefault(record["boot"], []).append(record)
        for some in of_boot.values():
            cut = pieces(some, rng) if rng.random() < 0.05 else [some]
            for piece in cut:
                write_segment(self.journal, piece)

    @cache  # noqa: B019 -- lives as long as the session
    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table."""
        return [row.asDict(recursive=True) for row in table(self.spark, self.tables, name).collect()]
