"""Tables of Iceberg and Delta: names, columns, and what differs: versions, later ones, going back."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple, Protocol

from namekeeper.pipeline.table import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "FORMATS",
    "TableFormat",
    "TableName",
    "VersionChange",
    "column_sql",
    "comment_sql",
    "literal",
    "properties_of",
    "quoted",
    "same_rows",
    "tables_in",
    "with_all_columns",
]


class TableName(NamedTuple):
    """A table in a catalog."""

    namespace: str
    """With the name of the catalog before it."""
    name: str

    @property
    def sql(self) -> str:
        """The quoted name for SQL."""
        return quoted(f"{self.namespace}.{self.name}")


class VersionChange(NamedTuple):
    """The change from one version to the next."""

    version: int
    is_upkeep: bool
    """Whether the rows are the same, as when a catalog merges small files."""


class TableFormat(Protocol):
    """A table format that keeps versions. Each write makes a version, which has a number."""

    properties: Mapping[str, str]
    """Properties of a new table."""

    def head(self, spark: "SparkSession", table: TableName) -> int | None:
        """The version that a table has now; None if it never had rows."""

    def changes(
        self, spark: "SparkSession", table: TableName, base: int | None, head: int | None
    ) -> Sequence[VersionChange] | None:
        """The changes from one version to another, in order; None if that is no descendant."""

    def go_back(self, spark: "SparkSession", table: TableName, version: int) -> None:
        """Set the table back to a version."""


class Iceberg:
    """Apache Iceberg: versions are snapshots, each of which names its parent."""

    properties: Mapping[str, str] = {
        "write.metadata.delete-after-commit.enabled": "true",  # every run writes some; --watch runs often
    }

    def head(self, spark: "SparkSession", table: TableName) -> int | None:
        """The snapshot that a table has now."""
        found = properties_of(spark, table).get("current-snapshot-id", "none")
        return None if found == "none" else int(found)

    def changes(
        self, spark: "SparkSession", table: TableName, base: int | None, head: int | None
    ) -> Sequence[VersionChange] | None:
        """The snapshots after one up to another."""
        if base == head:
            return ()
        query = f"SELECT snapshot_id, parent_id, operation FROM {table.sql}.snapshots"  # noqa: S608 - quoted
        snapshots = {row.snapshot_id: row for row in spark.sql(query).collect()}
        found: list[VersionChange] = []
        at = head
        while at != base:
            if at is None or at not in snapshots:
                return None
            found.append(VersionChange(at, snapshots[at].operation == "replace"))
            at = snapshots[at].parent_id
        return found[::-1]

    def go_back(self, spark: "SparkSession", table: TableName, version: int) -> None:
        """Set the table back to a snapshot."""
        catalog, _, namespace = table.namespace.partition(".")
        name = literal(quoted(f"{namespace}.{table.name}"))
        spark.sql(f"CALL {quoted(catalog)}.system.set_current_snapshot({name}, {version})").collect()


class Delta:
    """Delta Lake: versions are counted, and a table's history says what made each."""

    properties: Mapping[str, str] = {}

    _UPKEEP = ("OPTIMIZE", "VACUUM START", "VACUUM END", "REORG")

    def head(self, spark: "SparkSession", table: TableName) -> int | None:
        """The version that a table has now."""
        return int(spark.sql(f"DESCRIBE HISTORY {table.sql} LIMIT 1").collect()[0].version)

    def changes(
        self, spark: "SparkSession", table: TableName, base: int | None, head: int | None
    ) -> Sequence[VersionChange] | None:
        """The versions after one up to another."""
        first, last = (-1 if version is None else version for version in (base, head))
        if first == last:
            return ()
        history = spark.sql(f"DESCRIBE HISTORY {table.sql}").collect()
        found = [
            VersionChange(int(row.version), row.operation in self._UPKEEP)
            for row in history
            if first < row.version <= last
        ]
        return sorted(found) if found and len(found) == last - first else None

    def go_back(self, spark: "SparkSession", table: TableName, version: int) -> None:
        """Set the table back to a version; that makes a new version."""
        spark.sql(f"RESTORE TABLE {table.sql} TO VERSION AS OF {version}").collect()


FORMATS: Mapping[str, TableFormat] = {"iceberg": Iceberg(), "delta": Delta()}
"""Formats by their name in Spark's USING."""


def same_rows(base: int, changes: Iterable[VersionChange] | None) -> int:
    """The newest version in `changes` with the same rows as `base`, whose files may be gone."""
    versions = [change.version for change in takewhile(lambda change: change.is_upkeep, changes or ())]
    return versions[-1] if versions else base


def properties_of(spark: "SparkSession", table: TableName) -> Mapping[str, str]:
    """Properties of a table."""
    return {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table.sql}").collect()}


def quoted(name: str) -> str:
    """A name with dots, quoted for SQL."""
    return ".".join(f"`{part}`" for part in name.split("."))


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def tables_in(spark: "SparkSession", namespace: str) -> set[str]:
    """The names of the tables in a namespace."""
    return {row.tableName for row in spark.sql(f"SHOW TABLES IN {quoted(namespace)}").collect()}


def column_sql(column: Column) -> str:
    """A column of a table that is created or altered."""
    return f"`{column.name}` {column.type} {comment_sql(column)}"


def comment_sql(column: Column) -> str:
    """The comment of a column of a table or view."""
    return f"COMMENT {literal(column.meaning)}"


def with_all_columns(rows: "DataFrame", table: Table) -> "DataFrame":
    """The columns of a table; those that an earlier version did not write are null."""
    from pyspark.sql import functions as fn

    return rows.select(
        *(
            fn.col(column.name)
            if column.name in rows.columns
            else fn.lit(None).cast(column.type).alias(column.name)
            for column in table.columns
        )
    )
