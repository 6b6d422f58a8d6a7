"""A warehouse of Parquet files with made-up histories, made by DuckDB once in a process."""

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.answers.warehouse import open_warehouse
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.store.parquet_store import ParquetReader
from tests.support.history.histories import histories
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import Law, records_of

__all__ = ["SEED", "FileWarehouse", "file_warehouse", "tables_at"]

SEED = 4_242
WORLDS = 24


class FileWarehouse:
    """The warehouse, and what is true of it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warehouse-")
        self.law = Law(histories(SEED, WORLDS))
        self.duck = Duck()
        make_gold(self.duck, self.duck.load(records_of(self.law.histories)))
        self.uri = self.duck.write_warehouse(Path(self._folder.name))
        self.tables = tables_at(self.uri)

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        """The rows of a table."""
        return list(self.duck.rows(f"stored_{name}"))


@cache
def file_warehouse() -> FileWarehouse:
    """The warehouse of this process: it takes seconds to make, several modules read it, and nobody changes it."""
    return FileWarehouse()


def tables_at(uri: str) -> DuckTables:
    """The tables of a warehouse, on DuckDB."""
    reader = open_warehouse(uri)
    assert isinstance(reader, ParquetReader)
    return DuckTables(reader)
