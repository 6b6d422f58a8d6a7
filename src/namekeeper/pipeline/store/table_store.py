"""The tables of a warehouse: reading them, and changing several of them in one atomic step.

Ingest, gold and answers use `TableStore` and `Transaction`. `parquet_store` is plain Parquet under one
manifest, `catalog_store` is Iceberg or Delta in the user's catalog; `stores` chooses between them.
"""

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.store.manifest import Manifest
from namekeeper.pipeline.store.warehouse_folder import Version
from namekeeper.pipeline.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["AddRows", "LoadedRange", "SharedFiles", "TableReader", "TableStore", "Transaction"]


class LoadedRange(NamedTuple):
    """The records that a load brought of one boot of one name server."""

    namesrv: str
    uuid8: str
    boot: int
    first_seq: int
    last_seq: int
    first_ts: int
    """The smallest `ts` in it, ms; a clock may run backwards, so it may differ from that of `first_seq`."""
    last_ts: int
    """The largest `ts` in it, ms."""

    def joined(self, other: "LoadedRange") -> "LoadedRange":
        """The range over this and another one of the same boot."""
        return self._replace(
            first_seq=min(self.first_seq, other.first_seq),
            last_seq=max(self.last_seq, other.last_seq),
            first_ts=min(self.first_ts, other.first_ts),
            last_ts=max(self.last_ts, other.last_ts),
        )


class SharedFiles(NamedTuple):
    """A folder for Parquet files that several tables of a transaction share."""

    path: str
    """Below the folder of the warehouse. The caller deletes it if no table takes a file."""
    take: Callable[[Table, Iterable[File]], None]
    """Makes files in the folder part of a table. Several tables may take the same file; columns that a table
    does not have are ignored when it is read."""


AddRows = Callable[["SparkSession", Table, "pa.Table"], None]
"""Adds rows of this process to a table. They have exactly its columns."""


class TableReader(Protocol):
    """Tables as they are at one instant."""

    report_time_zone: str
    """Time zone of days."""

    def table(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """All rows of a table; none if nothing was ever written to it."""

    def few(self, table: Table) -> "pa.Table | None":
        """All rows of a table, if they are few and this process can read them; see `literals`."""

    def is_there(self, table: Table) -> bool:
        """Whether anything was ever written to a table."""


class Transaction(TableReader, Protocol):
    """One run's changes of a warehouse; `table` shows committed rows and the rows of these changes."""

    load_id: int
    """Load id, larger than that of every earlier run, also of dead ones."""

    def append(self, table: Table, rows: "DataFrame") -> None:
        """Add rows to a table; `rows` has exactly its columns, `load_id` among them if the table has it."""

    def rows_adder(self) -> AddRows | None:
        """Adds few rows without Spark; None: the run has much to do, or the tables are not files."""

    def added(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """The rows that this run has added to a fact table."""

    def shared_files(self) -> SharedFiles | None:
        """A new folder for Parquet files that tables can share; None: the tables are not files."""

    def replace(
        self, table: Table, rows: "DataFrame", *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Replace rows of a table with `rows`.

        Args:
            table: Its name.
            rows: New rows, with exactly its columns.
            by: Column that the table is partitioned by, always the same; not null. Its values as text name
                the partitions.
            values: The partitions that are replaced; partitions of `rows` are among them. None: all.
        """

    def keep(self, rows: "DataFrame") -> "DataFrame | pa.Table":
        """Rows that are computed once, now; few rows of a small run as their values.

        A lost executor costs the time to compute them again at most.
        """

    def create_rest(self, spark: "SparkSession", tables: Iterable[tuple[Table, str | None]]) -> None:
        """Create the tables that have no rows yet, if others look for tables by their names.

        Args:
            spark: A session.
            tables: Every table, and the column that it is partitioned by; None: it is not.
        """

    def commit(self, ledger: bytes) -> Version:
        """Make the changes visible, all at once, and the ledger with them; returns the new version.

        Raises:
            WarehouseError: Another run has committed since; nothing is changed.
        """


class TableStore(Protocol):
    """A warehouse: a reader of its tables, transactions, and versions."""

    def reader(self) -> TableReader:
        """The tables as they are now; they stay so for this reader."""

    def version(self) -> Version:
        """The last commit: its manifest and its ledger, which belong together."""

    def begin(self, manifest: Manifest | None = None, *, little: bool = False) -> Transaction:
        """Begin a run on a version; the caller holds the lock of the warehouse.

        Args:
            manifest: That of the version; None: the newest. If another one follows it meanwhile, the commit
                fails.
            little: Whether the run has little to do; then few rows are kept and written by this process.
        """

    def clean_up(self) -> None:
        """Delete files that no reader needs: those of dead runs and old ones."""
