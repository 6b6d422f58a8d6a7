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
from namekeeper.pipeline.spark_environment import is_usable_spark_home
from namekeeper.pipeline.unnamed_user import java_options_of_user, log_in, name_without_entry

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

_WITHOUT_LIBRARIES: Mapping[str, str] = {
    "spark.sql.parquet.compression.codec": "gzip",
    "spark.shuffle.mapStatus.compression.codec": "lz4",
}
"""For a temporary folder in which nothing can be run: Java can't load what it unpacks there, zstd for one."""

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
    without_libraries = _WITHOUT_LIBRARIES if java.is_linked else {}
    settings.update(without_libraries)
    log_settings, scheduler_settings = write_java_settings(Path(java.home))
    settings.setdefault("spark.scheduler.allocation.file", scheduler_settings.as_uri())
    user = name_without_entry()
    of_user = java_options_of_user(user, Path(java.home)) if user else ""
    settings[_JAVA_OPTIONS] = java_options(
        log_settings, f"{of_user} {settings.get(_JAVA_OPTIONS, '')}".strip()
    )
    builder = session_class.builder.master(master).appName(APP_NAME)
    for name, value in settings.items():
        builder = builder.config(name, value)
    atexit.register(_remove_if_empty, Path.cwd() / _DEFAULT_CATALOG)
    with _environment(_changes(os.environ, java.home, master)):
        if user:
            log_in(user, {"spark.master": master, "spark.app.name": APP_NAME, **settings})
        session = prepare(builder.getOrCreate())
    for name in without_libraries.keys() & RUNTIME.keys():
        session.conf.set(name, without_libraries[name])
    return session


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


def _changes(environment: Mapping[str, str], java_home: str, master: str) -> dict[str, str | None]:
    """The changed variables in the environment of the Java process to start; None: not set."""
    changes: dict[str, str | None] = {"JAVA_HOME": java_home}
    if not is_usable_spark_home(environment.get("SPARK_HOME", "")):
        changes["SPARK_HOME"] = None  # PySpark brings a Spark, and would rather start one that is gone
    if master.startswith("local[") and not environment.get("SPARK_LOCAL_HOSTNAME"):
        # Otherwise Spark looks up the name of this host, which may lead nowhere.
        changes["SPARK_LOCAL_IP"] = environment.get("SPARK_LOCAL_IP") or "127.0.0.1"
    return changes


@contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Change the environment for the processes that are started in the block."""
    before = {name: os.environ.get(name) for name in changes}
    _set_variables(changes)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
