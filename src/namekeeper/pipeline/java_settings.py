"""Settings of the Java of a local session: its options, its log, and how queries share cores."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

__all__ = ["java_options", "starting_for_seconds", "write_java_settings"]

_COMPILE_LATE = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
"""Ten times the default: in a run of a minute Java's second compiler uses up a core; it is worth it in long
runs."""

_COMPILE_ONCE = "-XX:TieredStopAtLevel=1"
"""For a process that ends before the second compiler has paid off."""

_for_seconds = ContextVar("for_seconds", default=False)

_CODE_CACHE = "-XX:ReservedCodeCacheSize=512m"
"""Twice the default, for code that is kept; a Java without its second compiler has 48 MiB and dies of it."""

_PARALLEL_COLLECTOR = "-XX:+UseParallelGC"
"""The default collector takes cores from the tasks, and slows down every write of a reference."""
_ANY_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")

_FAIR = """\
<?xml version="1.0"?>
<allocations><pool name="default"><schedulingMode>FAIR</schedulingMode></pool></allocations>
"""
"""Concurrent queries share the cores; by default the small ones would wait for the largest."""

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
# A failure in a task is raised in the driver too. Shown twice, it hides what to do.
logger.executor.name = org.apache.spark.executor
logger.executor.level = off
logger.scheduler.name = org.apache.spark.scheduler
logger.scheduler.level = off
logger.util.name = org.apache.spark.util
logger.util.level = off
logger.sql.name = org.apache.spark.sql
logger.sql.level = off
"""


def write_java_settings(folder: Path) -> tuple[Path, Path]:
    """Write two files into a folder: settings of the log, and of the scheduler; returns their paths."""
    log_settings, scheduler_settings = folder / "log4j2.properties", folder / "fairscheduler.xml"
    log_settings.write_text(_QUIET)
    scheduler_settings.write_text(_FAIR)
    return log_settings, scheduler_settings


@contextmanager
def starting_for_seconds() -> Iterator[None]:
    """Let a Java that is started in the block be for a process that ends after one small run.

    The run knows how much there is to do; its caller decides which session it gets.
    """
    token = _for_seconds.set(True)
    try:
        yield
    finally:
        _for_seconds.reset(token)


def java_options(log_settings: Path, given: str) -> str:
    """Options of a Java that is started here; those of the user come last, so they win.

    Args:
        log_settings: File with the settings of its log.
        given: Options of the user. Java refuses two collectors: ours is left out if there is one.
    """
    collector = () if _ANY_COLLECTOR.search(given) else (_PARALLEL_COLLECTOR,)
    compiling = _COMPILE_ONCE if _for_seconds.get() else _COMPILE_LATE
    return " ".join(
        [f"-Dlog4j2.configurationFile={log_settings}", compiling, _CODE_CACHE, *collector, given]
    ).strip()
