"""A warehouse with tables in a Spark catalog, as Iceberg or Delta.

The folder of the warehouse keeps manifests, ledger, lock and scratch data, as with Parquet files; a manifest
names a version of each table instead of files. Readers ask for these versions, so they see a run completely
or not at all, however many tables it writes. Rows that a dead run has written to a table are undone by the
next run that writes to it.
"""

import re
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.store.few_rows import no_rows
from namekeeper.pipeline.store.kept_rows import keep_rows
from namekeeper.pipeline.store.manifest import Catalog, Manifest, commit_manifest
from namekeeper.pipeline.store.parquet_store import empty
from namekeeper.pipeline.store.table_format import (
    FORMATS,
    TableName,
    column_sql,
    literal,
    properties_of,
    quoted,
    same_rows,
    tables_in,
    with_all_columns,
)
from namekeeper.pipeline.store.warehouse_folder import Version, WarehouseFolder, commit_run
from namekeeper.pipeline.table import Table, names_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CatalogReader", "CatalogStore", "CatalogTransaction", "parse_location"]

MARK = "namekeeper.warehouse"
"""Property of a table with the id of its warehouse."""

_LOCATION = re.compile(r"([a-z]+):([\w-]+(?:\.[\w-]+)+)", re.ASCII)


class CatalogReader:
    """The tables of one manifest."""

    def __init__(self, catalog: Catalog, report_time_zone: str) -> None:
        self.report_time_zone = report_time_zone
        self._catalog = catalog
        self._format = FORMATS[catalog.format]
        self._versions = dict(catalog.versions)
        self._readable: dict[str, int] = {}

    def table(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """All rows of a table.

        Raises:
            WarehouseError: The catalog can't be reached, or has not kept this version.
        """
        if not self.is_there(table):
            return empty(spark, table)
        name = self._name(table)
        with _refusals(name):
            if table.name not in self._readable:
                self._readable[table.name] = self._found(spark, name, self._versions[table.name])
            version = self._readable[table.name]
            rows = spark.sql(f"SELECT * FROM {name.sql} VERSION AS OF {version}")  # noqa: S608 - quoted
            return with_all_columns(rows, table)

    def few(self, table: Table) -> "pa.Table | None":
        """None, unless a table has no version: only the catalog knows its files."""
        return None if self.is_there(table) else no_rows()

    def is_there(self, table: Table) -> bool:
        """Whether a table has a version."""
        return table.name in self._versions

    def _found(self, spark: "SparkSession", name: TableName, version: int) -> int:
        """The version to read instead: catalogs rewrite a table's files and drop old versions."""
        head = self._fresh_head(spark, name)
        return same_rows(version, self._format.changes(spark, name, version, head))

    def _fresh_head(self, spark: "SparkSession", name: TableName) -> int | None:
        spark.sql(f"REFRESH TABLE {name.sql}").collect()  # another session may have changed it
        return self._format.head(spark, name)

    def _name(self, table: Table) -> TableName:
        return TableName(self._catalog.namespace, table.name)


class CatalogTransaction(CatalogReader):
    """One run's changes."""

    def __init__(
        self, folder: Folder, manifest: Manifest, catalog: Catalog, load_id: int, *, little: bool = False
    ) -> None:
        """Begin.

        Args:
            folder: That of the warehouse.
            manifest: The version to change.
            catalog: Where the tables are.
            load_id: Number of the run.
            little: Whether the run has little to do; then few rows are kept by this process.
        """
        super().__init__(catalog, manifest.report_time_zone)
        self._is_little = little
        self._folder = folder
        self._manifest = manifest
        self.load_id = load_id
        self._written: set[str] = set()

    def append(self, table: Table, rows: "DataFrame") -> None:
        """Add rows to a table."""
        with self._changing(rows.sparkSession, table, None):
            rows.select(*names_in(table)).writeTo(self._name(table).sql).append()

    def rows_adder(self) -> None:
        """None: the format of a table writes its files."""

    def added(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """The rows that this run has added."""
        return self.table(spark, table).where(f"load_id = {self.load_id}")

    def shared_files(self) -> None:
        """None: the format of a table owns its files."""

    def replace(
        self, table: Table, rows: "DataFrame", *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Replace rows of a table."""
        from pyspark.sql import functions as fn

        replaced = fn.lit(True)  # noqa: FBT003 - every row
        if by is not None and values is not None:
            replaced = fn.col(by).isin(sorted(values))
        with self._changing(rows.sparkSession, table, by):
            rows.select(*names_in(table)).writeTo(self._name(table).sql).overwrite(replaced)

    def keep(self, rows: "DataFrame") -> "DataFrame | pa.Table":
        """Rows that are computed once, now."""
        return keep_rows(self._folder, self.load_id, rows, little=self._is_little)

    def create_rest(self, spark: "SparkSession", tables: Iterable[tuple[Table, str | None]]) -> None:
        """Create the tables that have no rows yet: other engines find all of them from the first run on."""
        with _refusals(TableName(self._catalog.namespace, "*")):
            there = tables_in(spark, self._catalog.namespace)
            for table, by in tables:
                if table.name not in there:
                    self._create(spark, table, by)

    def commit(self, ledger: bytes) -> Version:
        """Make the changes visible, all at once; returns the new version."""
        manifest = self._manifest._replace(
            number=self._manifest.number + 1,
            next_load=self.load_id + 1,
            catalog=self._catalog._replace(versions=dict(self._versions)),
        )
        return commit_run(self._folder, manifest, ledger)

    @contextmanager
    def _changing(self, spark: "SparkSession", table: Table, by: str | None) -> Iterator[None]:
        """Prepare a table for a write; afterwards note the version that the caller has written.

        Raises:
            WarehouseError: Somebody else has written to it in between.
        """
        name = self._name(table)
        with _refusals(name):
            base = self._versions[table.name] if table.name in self._written else self._base(spark, table, by)
        yield
        with _refusals(name):
            head = self._fresh_head(spark, name)
            changes = self._format.changes(spark, name, base, head)
        if head is None or changes is None or sum(not change.is_upkeep for change in changes) > 1:
            raise WarehouseError(
                f"{name.sql} was changed by somebody else at the same time; nothing of this run is kept, run"
                " it again"
            )
        self._written.add(table.name)
        self._versions[table.name] = self._readable[table.name] = head

    def _base(self, spark: "SparkSession", table: Table, by: str | None) -> int | None:
        """The version to write on; rows that a dead run has written after it are undone."""
        name = self._name(table)
        version = self._versions.get(table.name)
        if version is None and not spark.catalog.tableExists(name.sql):
            self._create(spark, table, by)
            return self._format.head(spark, name)
        head = self._fresh_head(spark, name)
        self._check_mark(spark, name)
        if version is None:
            spark.sql(f"DELETE FROM {name.sql}").collect()  # noqa: S608 - quoted
            return self._fresh_head(spark, name)
        same = same_rows(version, self._format.changes(spark, name, version, head))
        if same != head:
            self._format.go_back(spark, name, same)
            head = self._fresh_head(spark, name)
        return self._with_new_columns(spark, table, head)

    def _with_new_columns(self, spark: "SparkSession", table: Table, head: int | None) -> int | None:
        """Give a table of an earlier version the columns that it lacks; returns its version then."""
        name = self._name(table)
        there = set(spark.table(name.sql).columns)
        missing = [column for column in table.columns if column.name not in there]
        if not missing:
            return head
        added = ", ".join(column_sql(column) for column in missing)
        spark.sql(f"ALTER TABLE {name.sql} ADD COLUMNS ({added})").collect()
        return self._fresh_head(spark, name)

    def _create(self, spark: "SparkSession", table: Table, by: str | None) -> None:
        columns = ", ".join(map(column_sql, table.columns))
        properties = {MARK: self._catalog.mark, **self._format.properties}
        pairs = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
        partitioned = f"PARTITIONED BY (`{by}`)" if by else ""
        spark.sql(
            f"CREATE TABLE {self._name(table).sql} ({columns}) USING {self._catalog.format} {partitioned}"
            f" COMMENT {literal(table.meaning)} TBLPROPERTIES ({pairs})"
        ).collect()

    def _check_mark(self, spark: "SparkSession", name: TableName) -> None:
        if properties_of(spark, name).get(MARK) != self._catalog.mark:
            raise WarehouseError(
                f"{name.sql} is not a table of this warehouse; move it away, or build a new warehouse in"
                " another namespace"
            )


class CatalogStore(WarehouseFolder):
    """A warehouse in a catalog, with a folder for everything but tables."""

    def create(
        self, spark: "SparkSession", location: str, report_time_zone: str, names: Collection[str]
    ) -> None:
        """Make an empty warehouse.

        Args:
            spark: A session that has the catalog.
            location: Location of the tables, see `parse_location`.
            report_time_zone: Zone that defines a day.
            names: Names of its tables.

        Raises:
            WarehouseError: The catalog can't be used, or folder or namespace contain something else.
        """
        catalog = parse_location(location)
        self.check_free()
        namespace = quoted(catalog.namespace)
        with _refusals(TableName(catalog.namespace, "*")):
            if not spark.catalog.databaseExists(namespace):
                spark.sql(f"CREATE NAMESPACE {namespace}").collect()
            there = tables_in(spark, catalog.namespace)
        if taken := sorted(there.intersection(names)):
            raise WarehouseError(
                f"{catalog.namespace} has tables already, {', '.join(taken[:3])} among them; if they are of a"
                " warehouse, give its folder, otherwise another namespace"
            )
        commit_manifest(self._folder, Manifest(0, 1, report_time_zone, "", {}, catalog))

    def reader(self) -> CatalogReader:
        """The tables as they are now."""
        manifest = self._newest()
        return CatalogReader(_catalog_of(manifest), manifest.report_time_zone)

    def begin(self, manifest: Manifest | None = None, *, little: bool = False) -> CatalogTransaction:
        """Begin a run on a version; without one, on the newest."""
        manifest = manifest or self._newest()
        load_id = self._take_load(manifest)
        return CatalogTransaction(self._folder, manifest, _catalog_of(manifest), load_id, little=little)

    def clean_up(self) -> None:
        """Delete files that no kept manifest names; old versions of tables are the catalog's."""
        self._drop_what_is_old()


def parse_location(text: str) -> Catalog:
    """Parse a location such as `iceberg:nk.namekeeper`: a format, a catalog and a namespace in it.

    Raises:
        WarehouseError: It has another form.
    """
    match = _LOCATION.fullmatch(text)
    if match is None or match[1] not in FORMATS:
        formats = " or ".join(FORMATS)
        raise WarehouseError(f"{text!r} is no location for tables; they are like {formats}:CATALOG.NAMESPACE")
    return Catalog(match[1], match[2], uuid.uuid4().hex)


def _catalog_of(manifest: Manifest) -> Catalog:
    assert manifest.catalog is not None
    return manifest.catalog


@contextmanager
def _refusals(name: TableName) -> Iterator[None]:
    """Turn a refusal of a catalog into an error of ours.

    Raises:
        WarehouseError: It refused something.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        catalog, cause = name.namespace.partition(".")[0], str(error).strip().partition("\n")[0]
        raise WarehouseError(
            f"{name.namespace}.{name.name} can't be used: {cause}; Spark's own configuration must have the"
            f" catalog {catalog}, and versions of tables that are in use must be kept there"
        ) from error
