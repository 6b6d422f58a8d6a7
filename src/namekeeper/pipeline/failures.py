"""What Spark fails at, as an error of ours with what to do."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from namekeeper.pipeline.errors import PipelineError

__all__ = ["failures_of_spark"]

_THROWN = re.compile(r": [\w$]+(\.[\w$]+)+")
"""What Java threw, by its class; lines of a query's plan begin with a colon too."""


@contextmanager
def failures_of_spark() -> Iterator[None]:
    """Make what Spark raises an error of ours, with its first line.

    Raises:
        PipelineError: Spark failed.
    """
    try:
        yield
    except Exception as error:
        if not _is_of_spark(error):
            raise
        raise PipelineError(
            f"Spark failed: {_cause_in(str(error))}; nothing half done is kept. `namekeeper pipeline doctor`"
            " looks for what is missing; if it is memory, give Spark more"
        ) from error


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
