"""What Spark says when it fails, in a line."""

import subprocess
import sys

import pytest
from pyspark.errors import AnalysisException

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.failures import failures_of_spark
from tests.support.system.waiting import PATIENCE


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[X] wrong\nmore", "[X] wrong;"),
        ("An error occurred while calling o1.x.\n: org.E: no\n\tat a.b\nCaused by: java.F: disk full\n\t... 3 more", "java.F: disk full;"),
        ("An error occurred while calling o1.x.\n: org.E: no\n\tat a.b", "org.E: no;"),
        ("An error occurred while calling o1.x.\n: org.E: no\n: +- Project [a]\n\tat a.b", "org.E: no;"),
        ("[X] wrong\n: +- Project [a]", "[X] wrong;"),
        ("", "it does not say why;"),
    ],
)  # fmt: skip
def test_the_line_that_says_most_is_told(monkeypatch, text, line):
    monkeypatch.setattr(AnalysisException, "__str__", lambda self: text)
    with pytest.raises(PipelineError, match="nothing half done is kept") as raised, failures_of_spark():
        raise AnalysisException("")
    assert str(raised.value).startswith(f"Spark failed: {line}")


def test_a_java_that_died_between_two_calls_is_a_failure_of_spark():
    with pytest.raises(PipelineError, match="Connection refused; nothing half done"), failures_of_spark():
        raise ConnectionRefusedError(111, "Connection refused")


def test_other_errors_are_not_touched():
    with pytest.raises(ZeroDivisionError), failures_of_spark():
        raise ZeroDivisionError


def test_pyspark_is_not_imported_to_find_out_whose_failure_it_is():
    output = subprocess.run(
        [sys.executable, "-c", NOT_OF_SPARK],
        check=True,
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
    )
    assert output.stdout == "refused False\n"


NOT_OF_SPARK = """
import sys
from namekeeper.pipeline.failures import failures_of_spark
try:
    with failures_of_spark():
        raise ConnectionRefusedError
except ConnectionRefusedError:
    print("refused", "pyspark" in sys.modules)
"""


def test_what_py4j_tells_of_a_call_that_was_interrupted_is_not_printed():
    output = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], check=True, capture_output=True, text=True, timeout=60 * PATIENCE
    )
    assert output.stderr == ""


INTERRUPTED = """
import logging
from namekeeper.pipeline.failures import hush_interrupts
hush_interrupts()
logging.exception("KeyboardInterrupt while sending command.")
"""
