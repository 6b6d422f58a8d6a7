"""Settings of Spark: for every session, and for single tasks."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING

from namekeeper.pipeline.failures import errors_of_dead_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RUNTIME", "prepare", "suited_to_little_data"]

RUNTIME: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    # A partitioned write keeps a file open for each partition instead of sorting the rows first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.parquet.compression.codec": "zstd",
    # Java does not compile longer methods, so code for rows with many columns would be interpreted.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.sources.partitionOverwriteMode": "static",
    # Segments are many and small. By default Spark starts a task to look at each, and one to read 32 of them.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "32",
    "spark.sql.files.openCostInBytes": "524288",
    # Rows of a checkpoint compress very well. Spark would treat their small files as little data, and
    # broadcast them.
    "spark.sql.sources.fileCompressionFactor": "50",
    # A record of a checkpoint has some hundred rows, and a batch of records has all of them in memory.
    "spark.sql.parquet.columnarReaderBatchSize": "1024",
    # The first lower() would make tables of all letters of Unicode, which takes longer than to parse a day.
    # The pipeline only changes the case of hexadecimal digits.
    "spark.sql.icu.caseMappings.enabled": "false",
}
"""Settings of every session, also of one that others have made."""

_LITTLE_DATA: Mapping[str, str] = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # A task for each scan instead of one for each core, and no shuffle to bring their rows together.
    "spark.sql.leafNodeDefaultParallelism": "1",
    # Spark describes the plan of each execution, also if nothing shows it.
    "spark.sql.ui.explainMode": "simple",
}
"""With some thousand records most of the time is spent compiling queries; with these settings they are
interpreted."""


def prepare(session: "SparkSession") -> "SparkSession":
    """Set what every session needs; returns the session."""
    _set(session, RUNTIME)
    return session


def suited_to_little_data(session: "SparkSession") -> AbstractContextManager[None]:
    """Make a session plan and run queries over some thousand records fast, until the block ends."""
    return _changed(session, _LITTLE_DATA)


@contextmanager
def _changed(session: "SparkSession", settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name) for name in settings}
    try:
        _set(session, settings)
        yield
    except BaseException:
        with suppress(*errors_of_dead_java()):  # the first error says more than a failure to restore
            _set(session, before)
        raise
    _set(session, before)


def _set(session: "SparkSession", settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)
