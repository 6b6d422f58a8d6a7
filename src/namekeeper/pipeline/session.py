"""The SparkSession: the one that is active, or one that is made here and nowhere else.

Every session of ours reckons in UTC. Only the DataFrame and SQL API is used, so an active session may be one
of spark-submit or of Spark Connect.
"""

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.java import java_home_for_spark
from namekeeper.pipeline.remote import check_listening

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "get_session",
    "hush_interrupts",
    "java_options",
    "local_session",
    "partitions_for",
    "stop_session",
    "suited_to_little_data",
    "suited_to_views",
]

_APP_NAME = "namekeeper"

_RUNTIME: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    # A partitioned write keeps a file open for each partition instead of sorting the rows first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.parquet.compression.codec": "zstd",
    # Java never compiles a method that is longer; the code for a row of many columns would be interpreted.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.sources.partitionOverwriteMode": "static",
    # Segments are many and small: as it is, Spark starts a task to look at each, and one to read 32 of them.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "32",
    "spark.sql.files.openCostInBytes": "524288",
    # Rows of a checkpoint repeat each other and get small as files: what looks little would be broadcast.
    "spark.sql.sources.fileCompressionFactor": "50",
    # A record of a checkpoint has some hundred rows, and a batch of records has all of them in memory.
    "spark.sql.parquet.columnarReaderBatchSize": "1024",
}
"""Settings of every session, also of one that was made by others."""

_LOCAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    # A run makes some hundred pieces of code; of the usual 100 none would be left for the next run.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # With 2 GiB and two cores a page of each sort and each hash table would have 64 MiB, and go to the old
    # generation full of zeros.
    "spark.buffer.pageSize": "2m",
    "spark.scheduler.mode": "FAIR",
}
"""Settings of a session that lives in this process."""

_LITTLE_DATA: Mapping[str, str] = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For some thousand records Spark needs no compiled queries: making them would take most of the time."""

_VIEWS: Mapping[str, str] = {"spark.sql.legacy.ctePrecedencePolicy": "LEGACY"}
"""For views that build on views: a WITH is put where it is named at once. As it is, Spark keeps it apart, and
puts it there whenever it looks over a view of it. Only a WITH inside another would mean something else."""

_COMPILE_LATE = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
"""Ten times the usual: Java's second compiler takes a core from a run of a minute, and pays after many."""

_ROOM_FOR_CODE = "-XX:ReservedCodeCacheSize=512m"
"""Twice the usual, for code that is kept; a Java without its second compiler has 48 MiB and dies of it."""

_LEAST_PARTITIONS = 4

_FAIR = """\
<?xml version="1.0"?>
<allocations><pool name="default"><schedulingMode>FAIR</schedulingMode></pool></allocations>
"""
"""Of queries that run at once each gets a share; as it is, the small ones would wait for the largest."""

_QUIET = """\
# At another level Spark would say on stderr that it changes it.
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.filter.errors.type = ThresholdFilter
appender.stderr.filter.errors.level = error
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
# What fails in a task is raised in the driver; told twice it hides what to do.
logger.executor.name = org.apache.spark.executor
logger.executor.level = off
logger.scheduler.name = org.apache.spark.scheduler
logger.scheduler.level = off
logger.util.name = org.apache.spark.util
logger.util.level = off
logger.sql.name = org.apache.spark.sql
logger.sql.level = off
"""
_COLLECT_TOGETHER = "-XX:+UseParallelGC"
"""The usual collector takes cores from the tasks, and slows down every write of a reference."""
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def get_session(
    given: "SparkSession | None" = None,
    *,
    remote: str | None = None,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
) -> "SparkSession":
    """The session to work with: the given one, the active one, a server's, spark-submit's, or a local one.

    Args:
        given: Session of the caller; its settings that we need are set.
        remote: Address of a Spark Connect server, `sc://host:port`.
        master: Master of a session that is made here.
        conf: Settings for a session that is made here.

    Raises:
        PipelineError: pyspark is not installed, there is no Java for a local session, or nothing listens at
            the server's address.
    """
    session_class = _session_class()
    session = given or session_class.getActiveSession()
    if session is None and remote is not None:
        check_listening(remote)
        session = session_class.builder.remote(remote).getOrCreate()
    if session is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit started this process
        session = session_class.builder.appName(_APP_NAME).getOrCreate()
    if session is None:
        return local_session(master, conf)
    return _prepared(session)


def local_session(master: str, conf: Mapping[str, str] | None = None) -> "SparkSession":
    """A session in this process, quiet and reachable from this machine only.

    Args:
        master: `local[*]` and the like.
        conf: Settings that stand above ours.

    Raises:
        PipelineError: pyspark is not installed, or there is no Java for it.
    """
    session_class = _session_class()
    partitions = {"spark.sql.shuffle.partitions": str(partitions_for(master))}
    settings = {**_LOCAL, **partitions, **_RUNTIME, **(conf or {})}
    java = java_home_for_spark(os.environ)
    quiet, fair = Path(java.home) / "log4j2.properties", Path(java.home) / "fairscheduler.xml"
    quiet.write_text(_QUIET)
    fair.write_text(_FAIR)
    settings.setdefault("spark.scheduler.allocation.file", fair.as_uri())
    settings[_JAVA_OPTIONS] = java_options(quiet, settings.get(_JAVA_OPTIONS, ""))
    builder = session_class.builder.master(master).appName(_APP_NAME)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _java_home(java.home):
        return _prepared(builder.getOrCreate())


def partitions_for(master: str) -> int:
    """Two for each core: Spark joins them to tasks, and of eight for two cores it makes three tasks."""
    found = re.match(r"local(?:-cluster)?\[(\d+)", master)
    cores = int(found[1]) if found else os.cpu_count() or 1
    return max(_LEAST_PARTITIONS, 2 * cores)


def java_options(logging: Path, given: str) -> str:
    """Options of a Java that is started here; those that were given come last, and stand.

    Args:
        logging: Settings of its log.
        given: Options of the user. Java refuses two collectors: there is ours only if none is given.
    """
    collector = () if _COLLECTOR.search(given) else (_COLLECT_TOGETHER,)
    return " ".join(
        [f"-Dlog4j2.configurationFile={logging}", _COMPILE_LATE, _ROOM_FOR_CODE, *collector, given]
    ).strip()


def stop_session(session: "SparkSession") -> None:
    """End a session; if its Java has died already, as it does without memory, that is what it has done."""
    with suppress(*_signs_of_death()):
        session.stop()


def hush_interrupts() -> None:
    """Keep calls that Ctrl-C ends from being told of with a traceback; for our programs, not in others."""
    # py4j does it with the root logger, which prints if nobody has given it a handler.
    logging.getLogger().addHandler(logging.NullHandler())


def suited_to_little_data(session: "SparkSession") -> AbstractContextManager[None]:
    """Let a session plan and run queries over some thousand records fast; afterwards it is as before."""
    return _for_a_while(session, _LITTLE_DATA)


def suited_to_views(session: "SparkSession") -> AbstractContextManager[None]:
    """Let a session plan views that build on views fast; afterwards it is as before."""
    return _for_a_while(session, _VIEWS)


def _signs_of_death() -> tuple[type[Exception], ...]:
    """What is raised by a call of a Java that is no more."""
    from py4j.protocol import Py4JError

    return Py4JError, OSError


def _session_class() -> "type[SparkSession]":
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise PipelineError(
            "this needs PySpark, which is not installed: pip install 'namekeeper[pipeline]'"
        ) from error
    return SparkSession


def _prepared(session: "SparkSession") -> "SparkSession":
    _set(session, _RUNTIME)
    return session


@contextmanager
def _for_a_while(session: "SparkSession", settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name) or "" for name in settings}
    try:
        _set(session, settings)
        yield
    except BaseException:
        with suppress(*_signs_of_death()):  # if Java has died, what it died of is to be told, not this
            _set(session, before)
        raise
    _set(session, before)


def _set(session: "SparkSession", settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        session.conf.set(name, value)


@contextmanager
def _java_home(home: str) -> Iterator[None]:
    """Let processes that are started meanwhile find this Java."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = home
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
