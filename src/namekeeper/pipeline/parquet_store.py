"""A warehouse of plain Parquet files under one manifest.

    WAREHOUSE/manifests/000000000012.json    what is valid; the newest counts
    WAREHOUSE/ledger/000000000012.json       which segments are in
    WAREHOUSE/loads/7                        load id 7 is taken
    WAREHOUSE/tables/NAME/7-1f0c6e2a/        data files that load 7 wrote

Data files are never changed. The name of a load's folders has a random part, so that not even two runs that
take the same load id by mistake write into one folder.
"""

import re
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.file import File
from namekeeper.pipeline.folder import Folder, glob_escaped
from namekeeper.pipeline.manifest import (
    MANIFESTS,
    Manifest,
    Part,
    commit_manifest,
    newest_manifest,
    numbers_of,
    path_of,
)
from namekeeper.pipeline.table import Table, names_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["KEPT_MANIFESTS", "KEPT_MS", "SCRATCH", "ParquetReader", "ParquetStore", "ParquetTransaction"]

KEPT_MANIFESTS = 3
"""At least so many manifests, with their files, are kept ..."""
KEPT_MS = 60 * 60 * 1_000
"""... and those younger than this: a reader that began before a run may still need them."""

SMALL_BYTES = 32 << 20
"""A data file that is smaller is put together with others ..."""
SMALL_FILES = 32
"""... when a table has so many of them."""

SCRATCH = "staging"
"""Folder for what a run keeps only while it runs."""

_LEDGERS = "ledger"
_LOADS = "loads"
_TABLES = "tables"
_PARTITION = "partition"
"""The folder of a partition is `partition=VALUE`; the column itself stays in the files."""
_LOAD_FOLDER = re.compile(r"^(tables/[^/]+/[0-9]+-[0-9a-f]{8})/")


class ParquetReader:
    """The tables of one manifest."""

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        self._folder = folder
        self._parts: dict[str, Sequence[Part]] = dict(manifest.tables)
        self.report_time_zone = manifest.report_time_zone
        self.number = manifest.number

    def table(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """All rows of a table."""
        return self._read(spark, table, self._parts.get(table.name, ()))

    def _read(self, spark: "SparkSession", table: Table, parts: Sequence[Part]) -> "DataFrame":
        if not parts:
            return _empty(spark, table)
        paths = [glob_escaped(self._folder.spark_path(part.path)) for part in parts]
        return spark.read.schema(table.ddl).parquet(*paths)


class ParquetTransaction(ParquetReader):
    """One run's changes."""

    def __init__(self, folder: Folder, manifest: Manifest, load_id: int) -> None:
        super().__init__(folder, manifest)
        self._manifest = manifest
        self.load_id = load_id

    def append(self, table: Table, rows: "DataFrame") -> None:
        """Add rows to a table; small files of it are put together when there are many."""
        self._parts[table.name] = (*self._parts.get(table.name, ()), *self._written(table, rows))
        small = [part for part in self._parts[table.name] if part.size < SMALL_BYTES]
        if len(small) >= SMALL_FILES:
            merged = self._written(table, self._read(rows.sparkSession, table, small).coalesce(1))
            large = [part for part in self._parts[table.name] if part.size >= SMALL_BYTES]
            self._parts[table.name] = (*large, *merged)

    def replace(
        self, table: Table, rows: "DataFrame", *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Put rows in the place of those that a table has."""
        written = self._written(table, rows, by)
        kept: list[Part] = []
        if values is not None:
            kept = [part for part in self._parts.get(table.name, ()) if part.value not in values]
            strange = {part.value for part in written} - set(values)
            assert not strange, f"{table.name}: rows of partitions that are not replaced: {strange}"
        self._parts[table.name] = (*kept, *written)

    def commit(self, ledger: bytes) -> None:
        """Make the changes visible, all at once."""
        number = self._manifest.number + 1
        ledger_path = f"{_LEDGERS}/{number:012}-{uuid.uuid4().hex[:8]}.json"
        self._folder.put(ledger_path, ledger)
        manifest = Manifest(number, self.load_id + 1, self.report_time_zone, ledger_path, dict(self._parts))
        commit_manifest(self._folder, manifest)

    def _written(self, table: Table, rows: "DataFrame", by: str | None = None) -> list[Part]:
        from pyspark.sql import functions as fn

        path = f"{_TABLES}/{table.name}/{self.load_id}-{uuid.uuid4().hex[:8]}"
        rows = rows.select(*names_in(table))
        if by is None:
            rows.write.mode("error").parquet(self._folder.spark_path(path))
        else:
            named = rows.withColumn(_PARTITION, fn.col(by).cast("string"))
            placed = named.repartition(_PARTITION).sortWithinPartitions(_PARTITION, *table.key)
            placed.write.mode("error").partitionBy(_PARTITION).parquet(self._folder.spark_path(path))
        return [_part(file) for file in self._folder.files(path) if file.path.endswith(".parquet")]


class ParquetStore:
    """A warehouse in a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @property
    def uri(self) -> str:
        """Where it is."""
        return self._folder.uri

    def create(self, report_time_zone: str) -> None:
        """Make an empty warehouse, if there is none.

        Raises:
            WarehouseError: There are files but no manifest.
        """
        if newest_manifest(self._folder) is None:
            self.check_free()
            commit_manifest(self._folder, Manifest(0, 1, report_time_zone, "", {}))

    def check_free(self) -> None:
        """Make sure that a warehouse can be made here.

        Raises:
            WarehouseError: There are files of something else.
        """
        # The first run may have died before its first manifest.
        known = ("lock", f"{SCRATCH}/", f"{_LOADS}/", f"{MANIFESTS}/")
        others = (file.path for file in self._folder.files() if not file.path.startswith(known))
        if (other := next(others, None)) is not None:
            raise WarehouseError(
                f"{self.uri} has no manifest but other files ({other}): give an empty folder; if it is a"
                " warehouse, restore its folder manifests/"
            )

    def reader(self) -> ParquetReader:
        """The tables as they are now."""
        return ParquetReader(self._folder, self._newest())

    def ledger(self) -> bytes | None:
        """What the last commit's ledger says."""
        path = self._newest().ledger
        try:
            return self._folder.read(path) if path else None
        except FileNotFoundError:
            return None

    def is_empty(self) -> bool:
        """Whether nothing was ever committed."""
        return not self._newest().tables

    def begin(self) -> ParquetTransaction:
        """Begin a run."""
        manifest = self._newest()
        taken = [load for load in self._taken_loads() if load >= manifest.next_load]
        load_id = max(taken, default=manifest.next_load - 1) + 1
        while not self._folder.put_new(f"{_LOADS}/{load_id}", b""):
            load_id += 1
        return ParquetTransaction(self._folder, manifest, load_id)

    def clean_up(self) -> None:
        """Delete what no kept manifest names; the caller holds the lock, so nobody is writing it."""
        manifests = self._drop_old_manifests()
        valid = {folder for manifest in manifests for folder in _load_folders(manifest.tables)}
        matches = (_LOAD_FOLDER.match(file.path) for file in self._folder.files(_TABLES))
        for path in {match[1] for match in matches if match} - valid:
            self._folder.delete(path)
        ledgers = {manifest.ledger for manifest in manifests}
        for file in list(self._folder.files(_LEDGERS)):
            if file.path not in ledgers:
                self._folder.delete(file.path)
        for load_id in self._taken_loads():
            if load_id < manifests[-1].next_load:
                self._folder.delete(f"{_LOADS}/{load_id}")
        self._folder.delete(SCRATCH)

    def _newest(self) -> Manifest:
        manifest = newest_manifest(self._folder)
        if manifest is None:
            raise WarehouseError(f"{self.uri} is no warehouse: `namekeeper pipeline run` makes one")
        return manifest

    def _taken_loads(self) -> list[int]:
        names = (file.path.rpartition("/")[2] for file in self._folder.files(_LOADS))
        return [int(name) for name in names if name.isdigit()]

    def _drop_old_manifests(self) -> list[Manifest]:
        """Delete manifests that nobody needs, and return the others."""
        now_ms = int(time.time() * 1_000)
        modified = {file.path: file.modified_ms for file in self._folder.files("manifests")}
        numbers = numbers_of(self._folder)
        kept = []
        for number in numbers:
            path = path_of(number)
            if number not in numbers[-KEPT_MANIFESTS:] and now_ms - (modified.get(path) or 0) > KEPT_MS:
                self._folder.delete(path)
            else:
                kept.append(Manifest.from_json(self._folder.read(path), path))
        return kept


def _empty(spark: "SparkSession", table: Table) -> "DataFrame":
    from pyspark.sql import functions as fn

    columns = (fn.lit(None).cast(column.type).alias(column.name) for column in table.columns)
    return spark.range(0).select(*columns)


def _part(file: File) -> Part:
    value = None
    for name in file.path.split("/"):
        if name.startswith(f"{_PARTITION}="):
            value = unquote(name.partition("=")[2])
    return Part(file.path, file.size or 0, value)


def _load_folders(tables: Mapping[str, Sequence[Part]]) -> set[str]:
    matches = (_LOAD_FOLDER.match(part.path) for parts in tables.values() for part in parts)
    return {match[1] for match in matches if match}
