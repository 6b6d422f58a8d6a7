"""A SparkSession in this process, quiet and reachable from this machine only."""

import atexit
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from namekeeper.pipeline.failures import missing_package
from namekeeper.pipeline.java import java_home_for_spark
from namekeeper.pipeline.java_settings import java_options, write_java_settings
from namekeeper.pipeline.session_settings import RUNTIME, prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["APP_NAME", "local_session", "partitions_for", "spark_session_class"]

APP_NAME = "namekeeper"

_LOCAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    # A run generates some hundred classes. Spark keeps 100, so the next run would find none of them.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # With 2 GiB and two cores a page of each sort and hash table would have 64 MiB, and would move to the old
    # generation while still empty.
    "spark.buffer.pageSize": "2m",
    "spark.scheduler.mode": "FAIR",
}

_LEAST_PARTITIONS = 4
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_DEFAULT_CATALOG = "spark-warehouse"
"""A folder that Spark makes where it is started, for tables of its own catalog: the pipeline has none."""


def local_session(master: str, conf: Mapping[str, str] | None = None) -> "SparkSession":
    """Make a session in this process.

    Args:
        master: `local[*]` and the like.
        conf: Settings that replace ours.

    Raises:
        PipelineError: pyspark is not installed, or there is no Java for it.
    """
    session_class = spark_session_class()
    partitions = {"spark.sql.shuffle.partitions": str(partitions_for(master))}
    settings = {**_LOCAL, **partitions, **RUNTIME, **(conf or {})}
    java = java_home_for_spark(os.environ)
    log_settings, scheduler_settings = write_java_settings(Path(java.home))
    settings.setdefault("spark.scheduler.allocation.file", scheduler_settings.as_uri())
    settings[_JAVA_OPTIONS] = java_options(log_settings, settings.get(_JAVA_OPTIONS, ""))
    builder = session_class.builder.master(master).appName(APP_NAME)
    for name, value in settings.items():
        builder = builder.config(name, value)
    atexit.register(_remove_if_empty, Path.cwd() / _DEFAULT_CATALOG)
    with _java_home(java.home):
        return prepare(builder.getOrCreate())


def partitions_for(master: str) -> int:
    """Number of partitions of a shuffle: two for each core, because Spark merges small ones into tasks."""
    found = re.match(r"local(?:-cluster)?\[(\d+)", master)
    cores = int(found[1]) if found else os.cpu_count() or 1
    return max(_LEAST_PARTITIONS, 2 * cores)


def spark_session_class() -> "type[SparkSession]":
    """The class SparkSession of pyspark, which is imported only now.

    Raises:
        PipelineError: pyspark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise (missing_package(error) or error) from error
    return SparkSession


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _java_home(home: str) -> Iterator[None]:
    """Set JAVA_HOME for the processes that are started in the block."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = home
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
