"""Keeps the parsed records of a batch on their way to the facts, as Parquet by kind in a folder.

The files of a large batch stay, as part of the tables whose rows are the records themselves.
"""

import re
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Self

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.contract import types_of_members
from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.files.folder import Folder, glob_escaped
from namekeeper.pipeline.ingest.facts import SAME_AS_RECORDS
from namekeeper.pipeline.ingest.records import FILE, PARTITION
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.parquet_store import MOST_ROWS
from namekeeper.pipeline.store.table_store import SharedFiles
from namekeeper.pipeline.table import Table, names_in

__all__ = ["Staging"]

_OPTIONS = {"parquet.block.size": str(8 << 20), "maxRecordsPerFile": str(MOST_ROWS)}
"""Most kinds that a task writes at once: each writer may hold a block in memory."""

_IN_PART = re.compile(rf"/{PARTITION}=([^/]+)/[^/]+\.parquet$")
_REST = "_rest"
"""Column with the members that only rare kinds have."""

_MANY = {kind for kinds in SAME_AS_RECORDS.values() for kind in kinds}
"""Kinds of most records: they get one null for the rare members together, not one for each."""

_OWN = {name for table in SAME_AS_RECORDS for name in names_in(FACTS[table])}
_PLAIN = {name: type_ for name, type_ in types_of_members().items() if name in _OWN}
_RARE = {name: type_ for name, type_ in types_of_members().items() if name not in _OWN}


def _ddl(types: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {type_}" for name, type_ in types.items())


_DDL = _ddl({**_PLAIN, _REST: f"struct<{_ddl(_RARE)}>", FILE: "string", PARTITION: "string"})


class Staging:
    """A staging folder; its content is deleted at the end, unless tables share it."""

    def __init__(self, folder: Folder, path: str) -> None:
        """Choose the folder; nothing is created yet.

        Args:
            folder: That of the warehouse.
            path: A path below it that is used by nothing else.
        """
        self._folder = folder
        self._path = path
        self._rows: DataFrame | None = None
        self._is_given = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._is_given:
            self.clear()

    def write(
        self, records: DataFrame, columns: Mapping[str, Column] | None = None, tasks: int | None = None
    ) -> None:
        """Put records there.

        Args:
            records: Their members, `_part`, and `file` unless it is among the columns.
            columns: Further columns of the written rows.
            tasks: Number of writing tasks; None: that of the reading ones.
        """
        more = [column.alias(name) for name, column in (columns or {}).items()]
        rest = fn.when(~fn.col("kind").isin(_MANY), fn.struct(*_RARE)).alias(_REST)
        packed = records.select(*(name for name in records.columns if name not in _RARE), rest, *more)
        writer = (
            (packed.coalesce(tasks) if tasks else packed)
            .write.mode("error")
            .partitionBy(PARTITION)
            .options(**_OPTIONS)
        )
        writer.parquet(self._folder.spark_path(self._path))

    def clear(self) -> None:
        """Delete the files of a failed write."""
        self._folder.delete(self._path)

    def read(self, spark: SparkSession) -> DataFrame:
        """All rows; a condition on `_part` reads only that part."""
        if self._rows is None:  # listed once
            packed = spark.read.schema(_DDL).parquet(glob_escaped(self._folder.spark_path(self._path)))
            self._rows = packed.select(*_PLAIN, f"{_REST}.*", FILE, PARTITION)
        return self._rows

    def parts(self) -> set[str]:
        """Values of `_part`."""
        return set(self._files())

    def share_with(self, shared: SharedFiles, tables: Mapping[Table, Collection[str]]) -> None:
        """Make the files part of tables; then this folder is not deleted.

        Args:
            shared: Makes files of this folder part of tables.
            tables: Table -> values of `_part` that it gets.
        """
        files = self._files()
        self._is_given = True
        for table, parts in tables.items():
            shared.take(table, [file for part in parts for file in files[part]])

    def _files(self) -> Mapping[str, list[File]]:
        """Data files by `_part`."""
        found: dict[str, list[File]] = {}
        for file in self._folder.files(self._path):
            if match := _IN_PART.search(file.path):
                found.setdefault(match[1], []).append(file)
        return found
