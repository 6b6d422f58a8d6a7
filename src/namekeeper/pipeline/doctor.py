"""Examines whether this machine can run the pipeline, and says what to do if something is missing."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from namekeeper.pipeline.errors import JavaError, PipelineError
from namekeeper.pipeline.failures import INSTALL_PIPELINE, failures_of_spark
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.segments import list_segments
from namekeeper.pipeline.java import choose_java, find_javas
from namekeeper.pipeline.spark_environment import look_at_variables
from namekeeper.pipeline.store.lock import lock_warehouse
from namekeeper.pipeline.store.manifest import newest_manifest
from namekeeper.pipeline.store.parquet_store import ParquetStore
from namekeeper.pipeline.unnamed_user import name_without_entry

__all__ = ["DoctorFinding", "examine"]

_GIB = 1 << 30
_MEMORY_NEEDED = 3 * _GIB
"""A heap of 2 GiB, and what Java and Python have beside it."""
_PACKAGES: Mapping[str, str] = {"pyspark": "4.1 to 4.3", "pyarrow": "18 or later", "pandas": "2.2 to 2.3"}


class DoctorFinding(NamedTuple):
    """The result of one examination."""

    what: str
    found: str
    advice: str = ""
    """The advice to the operator; empty: there is no problem."""


def examine(
    journals: Sequence[str],
    warehouse: str | None,
    *,
    start: Callable[[], object] | None,
    environment: Mapping[str, str],
) -> Iterator[DoctorFinding]:
    """Examine Java, Spark and the folders, one after the other.

    Args:
        journals: URIs of journals that shall be readable.
        warehouse: URI of the warehouse that shall be writable.
        start: Starts Spark and makes it do something; None: it is not tried.
        environment: The process's environment.
    """
    yield DoctorFinding("python", f"{sys.version.partition(' ')[0]} at {sys.executable}")
    for name in _PACKAGES:
        yield _package(name)
    yield from _java(environment)
    yield _memory()
    yield _user()
    yield _temporary_folder()
    for variable in look_at_variables(environment):
        yield DoctorFinding(*variable)
    for uri in journals:
        yield _journal(uri)
    if warehouse is not None:
        yield _warehouse(warehouse)
    if start is not None:
        yield _spark(start)


def _package(name: str) -> DoctorFinding:
    try:
        found = version(name)
    except PackageNotFoundError:
        return DoctorFinding(name, "not installed", f"{INSTALL_PIPELINE} (needs {_PACKAGES[name]})")
    if name == "pandas" and int(found.partition(".")[0]) >= 3:
        return DoctorFinding(name, found, f"PySpark can't work with pandas 3: {INSTALL_PIPELINE}")
    return DoctorFinding(name, found)


def _java(environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    found = list(find_javas(environment))
    for java in found:
        release = f"Java {java.version}" if java.version else "no Java"
        yield DoctorFinding(
            f"java from {java.source}",
            f"{release} at {java.home}" + (f": {java.verdict}" if java.verdict else ""),
        )
    try:
        chosen = choose_java(found)
    except JavaError as error:
        yield DoctorFinding("java for Spark", "none", str(error))
        return
    yield DoctorFinding(
        "java for Spark",
        f"that of {chosen.source}, started by way of a script that drops an argument of Spark's",
    )


def _user() -> DoctorFinding:
    name = name_without_entry()
    if name is None:
        return DoctorFinding("user", "has a name in the passwd file")
    return DoctorFinding("user", f"uid {os.getuid()} has no passwd entry: Spark is given the name {name}")


def _temporary_folder() -> DoctorFinding:
    try:
        folder = tempfile.gettempdir()
        with tempfile.NamedTemporaryFile() as file:
            os.fchmod(file.fileno(), 0o700)
            is_usable = os.access(file.name, os.X_OK)
        limits = (
            ""
            if is_usable
            else ", mounted with noexec: tables are written with gzip; those with zstd need TMPDIR"
        )
        return DoctorFinding("temporary folder", f"{folder}{limits}")
    except OSError as error:
        return DoctorFinding(
            "temporary folder",
            f"none: {error.strerror}",
            "set TMPDIR to a folder that this user may write to",
        )


def _memory() -> DoctorFinding:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = f"{total / _GIB:.1f} GiB in this machine"
    if total < _MEMORY_NEEDED:
        return DoctorFinding(
            "memory", found, "give Spark less than its 2 GiB: --memory 512m, and keep runs small"
        )
    return DoctorFinding("memory", found)


def _journal(uri: str) -> DoctorFinding:
    try:
        listing = list_segments([open_folder(uri)])
    except PipelineError as error:
        return DoctorFinding(f"journal {uri}", "can't be used", str(error))
    return DoctorFinding(f"journal {uri}", f"{len(listing.segments):,} sealed segments")


def _warehouse(uri: str) -> DoctorFinding:
    what = f"warehouse {uri}"
    try:
        folder = open_folder(uri)
        manifest = newest_manifest(folder)
        if manifest is None:
            ParquetStore(folder).check_free()
            return DoctorFinding(what, "not there yet; the first run makes it")
        with lock_warehouse(folder):
            pass
    except PipelineError as error:
        return DoctorFinding(what, "can't be used", str(error))
    tables = f", tables in {manifest.catalog.location}" if manifest.catalog else ""
    return DoctorFinding(
        what, f"as run {manifest.number} left it, days of {manifest.report_time_zone}{tables}"
    )


def _spark(start: Callable[[], object]) -> DoctorFinding:
    begin = time.monotonic()
    try:
        with failures_of_spark():
            start()
    except (PipelineError, ImportError) as error:
        return DoctorFinding("spark", "does not start", str(error).partition("\n")[0])
    return DoctorFinding("spark", f"started and answered in {time.monotonic() - begin:.1f} s")
