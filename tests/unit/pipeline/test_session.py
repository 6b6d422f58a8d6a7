"""What Spark says when it fails, in a line; sessions themselves are in tests/spark."""

import pytest
from pyspark.errors import AnalysisException

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.session import failures_of_spark


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[X] wrong\nmore", "[X] wrong;"),
        ("An error occurred while calling o1.x.\n: org.E: no\n\tat a.b\nCaused by: java.F: disk full\n\t... 3 more", "java.F: disk full;"),
        ("An error occurred while calling o1.x.\n: org.E: no\n\tat a.b", "org.E: no;"),
        ("", "it does not say why;"),
    ],
)  # fmt: skip
def test_the_line_that_says_most_is_told(monkeypatch, text, line):
    monkeypatch.setattr(AnalysisException, "__str__", lambda self: text)
    with pytest.raises(PipelineError, match="nothing half done is kept") as raised, failures_of_spark():
        raise AnalysisException("")
    assert str(raised.value).startswith(f"Spark failed: {line}")


def test_other_errors_are_not_touched():
    with pytest.raises(ZeroDivisionError), failures_of_spark():
        raise ZeroDivisionError
