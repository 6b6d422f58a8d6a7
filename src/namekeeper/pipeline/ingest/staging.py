"""Records of a batch on their way to the facts: Parquet by kind in a scratch folder, parsed once."""

from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.contract import read_schema
from namekeeper.pipeline.files.folder import Folder, glob_escaped
from namekeeper.pipeline.ingest.records import FILE

__all__ = ["PARTITION", "Staging"]

PARTITION = "_part"
"""Column that says where a row goes: its kind, or one of the names that ingest adds."""

_OPTIONS = {"compression": "lz4", "parquet.block.size": str(8 << 20)}
"""A task has a writer for each kind at once, and each may hold a block in memory."""

_DDL = f"{read_schema()}, `{FILE}` string, `{PARTITION}` string"


class Staging:
    """A scratch folder; what is in it goes at the end."""

    def __init__(self, folder: Folder, path: str) -> None:
        """Name the place.

        Args:
            folder: Where scratch data may be.
            path: A path below it that nobody else uses.
        """
        self._folder = folder
        self._path = path
        self._rows: DataFrame | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._folder.delete(self._path)

    def write(self, records: DataFrame) -> None:
        """Put records there: their members, `file` and `_part`."""
        writer = records.write.mode("error").partitionBy(PARTITION).options(**_OPTIONS)
        writer.parquet(self._folder.spark_path(self._path))

    def read(self, spark: SparkSession) -> DataFrame:
        """All that is there; a condition on `_part` reads only that part."""
        if self._rows is None:  # listed once
            self._rows = spark.read.schema(_DDL).parquet(glob_escaped(self._folder.spark_path(self._path)))
        return self._rows

    def parts(self) -> set[str]:
        """Values of `_part`."""
        marks = (file.path.split("/") for file in self._folder.files(self._path))
        return {
            name.partition("=")[2] for names in marks for name in names if name.startswith(f"{PARTITION}=")
        }
