"""A warehouse of plain Parquet files under one manifest.

    WAREHOUSE/tables/NAME/7-1f0c6e2a/        data files that load 7 wrote
    WAREHOUSE/tables/records/7-93ab01c4/     files of a large load, part of several tables

Data files are never changed. The name of a load's folder has a random part, so even two runs with the same
load id don't write into one folder.
"""

import re
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.files.folder import Folder, glob_escaped
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.store.few_rows import few_rows, parquet_file, parted, rows_of_files
from namekeeper.pipeline.store.kept_rows import keep_rows
from namekeeper.pipeline.store.manifest import DataFile, Manifest, commit_manifest, newest_manifest
from namekeeper.pipeline.store.sums import sum_of
from namekeeper.pipeline.store.table_store import AddRows, SharedFiles
from namekeeper.pipeline.store.warehouse_folder import Version, WarehouseFolder, commit_run
from namekeeper.pipeline.table import Table, names_in, types_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["MOST_ROWS", "ParquetReader", "ParquetStore", "ParquetTransaction", "empty"]

SMALL_BYTES = 512 << 10
FEW_ROWS = 100_000
"""A smaller data file with fewer rows is merged with others ..."""
SMALL_FILES = 32
"""... when a table has this many of them."""

FEW_FILES = 16
FEW_BYTES = 128 << 10
"""Most data files, and bytes of them, of a table that this process reads. Spark reads larger ones."""

MOST_ROWS = 1_000_000
"""Most rows of a data file: rows of checkpoints compress so well that a file could have far too many."""

_TABLES = "tables"
_SHARED = "records"
"""Folder, beside those of tables, for files that several tables share."""
_PARTITION = "partition"
"""The folder of a partition is `partition=VALUE`; the column itself stays in the files."""
_NAMED_BY = 2
"""Number of path parts that identify a data file: its folder and its name."""
_LOAD_FOLDER = re.compile(r"^(tables/[^/]+/([0-9]+)-[0-9a-f]{8})/")


class ParquetReader:
    """The tables of one manifest."""

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        self.folder = folder
        self._parts: dict[str, Sequence[DataFile]] = dict(manifest.tables)
        self.report_time_zone = manifest.report_time_zone

    def table(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """All rows of a table."""
        return self._read(spark, table, self._parts.get(table.name, ()))

    def few(self, table: Table) -> "pa.Table | None":
        """All rows of a table that is small: this process has read it before Spark has a plan."""
        parts = self._parts.get(table.name, ())
        if len(parts) > FEW_FILES or sum(part.size for part in parts) > FEW_BYTES:
            return None
        return rows_of_files(self.folder, [part.path for part in parts], types_of(table))

    def is_there(self, table: Table) -> bool:
        """Whether a table has files."""
        return bool(self._parts.get(table.name))

    def paths(self, table: Table) -> list[str]:
        """The data files of a table, below the folder. A file may have more columns than the table."""
        return [part.path for part in self._parts.get(table.name, ())]

    def _read(self, spark: "SparkSession", table: Table, parts: Sequence[DataFile]) -> "DataFrame":
        if not parts:
            return empty(spark, table)
        paths = [glob_escaped(self.folder.spark_path(part.path)) for part in parts]
        return spark.read.schema(table.ddl).parquet(*paths)


class ParquetTransaction(ParquetReader):
    """One run's changes."""

    def __init__(self, folder: Folder, manifest: Manifest, load_id: int, *, little: bool = False) -> None:
        """Begin.

        Args:
            folder: That of the warehouse.
            manifest: The version to change.
            load_id: Number of the run.
            little: Whether the run has little to do; then few rows are kept and written by this process.
        """
        super().__init__(folder, manifest)
        self._manifest = manifest
        self.load_id = load_id
        self._is_little = little

    def append(self, table: Table, rows: "DataFrame") -> None:
        """Add rows to a table; small files of it are merged when there are many."""
        self._add(rows.sparkSession, table, self._written(table, rows))

    def rows_adder(self) -> AddRows | None:
        """Adds rows as `append` does; None: the run has much to do."""
        if not self._is_little:
            return None
        return lambda spark, table, rows: self._add(spark, table, self._written_here(table, rows, None))

    def added(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """The rows that this run has added; only files that it wrote are opened."""
        written = [part for part in self._parts.get(table.name, ()) if _load_of(part.path) == self.load_id]
        return self._read(spark, table, written).where(
            f"load_id = {self.load_id}"
        )  # merged ones have older rows

    def shared_files(self) -> SharedFiles:
        """A new folder for files that tables can share."""
        return SharedFiles(self._new_path(_SHARED), self._take)

    def replace(
        self, table: Table, rows: "DataFrame", *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Replace rows of a table."""
        few = few_rows(rows.select(*names_in(table))) if self._is_little else None
        written = self._written(table, rows, by) if few is None else self._written_here(table, few, by)
        kept: list[DataFile] = []
        if values is not None:
            kept = [part for part in self._parts.get(table.name, ()) if part.value not in values]
            unexpected = {part.value for part in written} - set(values)
            assert not unexpected, f"{table.name}: rows of partitions that are not replaced: {unexpected}"
        self._parts[table.name] = (*kept, *written)

    def keep(self, rows: "DataFrame") -> "DataFrame | pa.Table":
        """Rows that are computed once, now."""
        return keep_rows(self.folder, self.load_id, rows, little=self._is_little)

    def create_rest(self, spark: "SparkSession", tables: Iterable[tuple[Table, str | None]]) -> None:
        """None: a table without rows has no files."""

    def commit(self, ledger: bytes) -> Version:
        """Make the changes visible, all at once; returns the new version."""
        manifest = self._manifest._replace(
            number=self._manifest.number + 1, next_load=self.load_id + 1, tables=self._summed()
        )
        return commit_run(self.folder, manifest, ledger)

    def _summed(self) -> dict[str, Sequence[DataFile]]:
        """The data files of each table; new ones get checksums. Object stores have checksums of their own."""
        if not isinstance(self.folder, LocalFolder):
            return dict(self._parts)
        known = {part.path: part.crc for parts in self._manifest.tables.values() for part in parts}
        paths = {part.path for parts in self._parts.values() for part in parts}
        sums = known | {path: sum_of(self.folder, path) for path in paths - known.keys()}
        return {
            name: tuple(part._replace(crc=sums[part.path]) for part in parts)
            for name, parts in self._parts.items()
        }

    def _add(self, spark: "SparkSession", table: Table, files: Iterable[DataFile]) -> None:
        self._parts[table.name] = (*self._parts.get(table.name, ()), *files)
        small = [part for part in self._parts[table.name] if part.size < SMALL_BYTES]
        if len(small) >= SMALL_FILES:
            small = self._with_few_rows(spark, table, small)
        if len(small) >= SMALL_FILES:
            merged = self._written(table, self._read(spark, table, small).coalesce(1))
            replaced = set(small)
            others = [part for part in self._parts[table.name] if part not in replaced]
            self._parts[table.name] = (*others, *merged)

    def _with_few_rows(
        self, spark: "SparkSession", table: Table, parts: Sequence[DataFile]
    ) -> list[DataFile]:
        """Leave out small files with many rows: their rows compress well."""
        from pyspark.sql import functions as fn

        # The tasks of a job use the same file names in the folders of all kinds.
        name = fn.substring_index(fn.input_file_name(), "/", -_NAMED_BY)
        counted = self._read(spark, table, parts).groupBy(name).count().where(fn.col("count") >= FEW_ROWS)
        many = {row[0] for row in counted.collect()}
        return [part for part in parts if "/".join(part.path.split("/")[-_NAMED_BY:]) not in many]

    def _take(self, table: Table, files: Iterable[File]) -> None:
        self._parts[table.name] = (*self._parts.get(table.name, ()), *map(_part, files))

    def _new_path(self, name: str) -> str:
        return f"{_TABLES}/{name}/{self.load_id}-{uuid.uuid4().hex[:8]}"

    def _written_here(self, table: Table, rows: "pa.Table", by: str | None) -> list[DataFile]:
        path = self._new_path(table.name)
        parts = {"": rows}
        if by is not None:
            parts = {f"{_PARTITION}={value}/": some for value, some in parted(rows, by, table.key)}
        written = []
        for below, some in parts.items():
            name = f"{path}/{below}part-0.zstd.parquet"
            written.append(_part(File(name, self.folder.put_stream(name, parquet_file(some)))))
        return written

    def _written(self, table: Table, rows: "DataFrame", by: str | None = None) -> list[DataFile]:
        from pyspark.sql import functions as fn

        path = self._new_path(table.name)
        rows = rows.select(*names_in(table))
        if by is None:
            writer = rows.write.mode("error").option("maxRecordsPerFile", MOST_ROWS)
            writer.parquet(self.folder.spark_path(path))
        else:
            named = rows.withColumn(_PARTITION, fn.col(by).cast("string"))
            sorted_rows = named.repartition(_PARTITION).sortWithinPartitions(_PARTITION, *table.key)
            sorted_rows.write.mode("error").partitionBy(_PARTITION).parquet(self.folder.spark_path(path))
        # An executor that Spark has given up may still write its attempt.
        return [
            _part(file)
            for file in self.folder.files(path)
            if file.path.endswith(".parquet") and "/_temporary/" not in file.path
        ]


class ParquetStore(WarehouseFolder):
    """A warehouse in a folder."""

    def create(self, report_time_zone: str) -> None:
        """Make an empty warehouse, if there is none.

        Raises:
            WarehouseError: There are files but no manifest.
        """
        if newest_manifest(self._folder) is None:
            self.check_free()
            commit_manifest(self._folder, Manifest(0, 1, report_time_zone, "", {}))

    def reader(self) -> ParquetReader:
        """The tables as they are now."""
        return ParquetReader(self._folder, self._newest())

    def begin(self, manifest: Manifest | None = None, *, little: bool = False) -> ParquetTransaction:
        """Begin a run on a version; without one, on the newest."""
        manifest = manifest or self._newest()
        return ParquetTransaction(self._folder, manifest, self._take_load(manifest), little=little)

    def clean_up(self) -> None:
        """Delete files that no kept manifest names, of loads that have ended."""
        manifests = self._drop_what_is_old()
        valid = {folder for manifest in manifests for folder in _load_folders(manifest.tables)}
        matches = (_LOAD_FOLDER.match(file.path) for file in self._folder.files(_TABLES))
        # The lease of this run may be lost since it was confirmed: then a later load is writing its files.
        ended = {match[1] for match in matches if match and int(match[2]) < manifests[-1].next_load}
        for path in ended - valid:
            self._folder.delete(path)


def empty(spark: "SparkSession", table: Table) -> "DataFrame":
    """A table without rows."""
    from pyspark.sql import functions as fn

    columns = (fn.lit(None).cast(column.type).alias(column.name) for column in table.columns)
    # With a condition that is never true Spark knows that there are no rows, and removes the queries that
    # read it.
    return spark.range(1).select(*columns).where("false")


def _part(file: File) -> DataFile:
    value = None
    for name in file.path.split("/"):
        if name.startswith(f"{_PARTITION}="):
            value = unquote(name.partition("=")[2])
    return DataFile(file.path, file.size or 0, value)


def _load_of(path: str) -> int | None:
    """The load that wrote a data file."""
    match = _LOAD_FOLDER.match(path)
    return int(match[2]) if match else None


def _load_folders(tables: Mapping[str, Sequence[DataFile]]) -> set[str]:
    matches = (_LOAD_FOLDER.match(part.path) for parts in tables.values() for part in parts)
    return {match[1] for match in matches if match}
