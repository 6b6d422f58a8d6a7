"""What checks found, in lines and in a code."""

import pytest

from namekeeper.pipeline.checks.checking import CheckFinding
from namekeeper.pipeline.checks.findings import EXIT_BROKEN, EXIT_CONCERNS, exit_code_of, lines_of
from namekeeper.pipeline.checks.rules import Level

LOST = CheckFinding(
    "lost records", Level.CONCERN, "records are missing", 7, [{"namesrv": "n\x1b[2J", "boot": None}]
)
BROKEN = CheckFinding("key of kv_history", Level.BROKEN, "rows with the same key", 1, [{"key": "k"}])


@pytest.mark.parametrize(
    ("findings", "code"),
    [([], 0), ([LOST], EXIT_CONCERNS), ([BROKEN], EXIT_BROKEN), ([LOST, BROKEN], EXIT_BROKEN)],
)
def test_the_worst_decides_the_code(findings: list[CheckFinding], code: int):
    assert exit_code_of(findings) == code


def test_each_has_a_line_with_examples_that_can_not_move_the_cursor():
    assert list(lines_of([BROKEN, LOST])) == [
        "BROKEN  key of kv_history: 1 (rows with the same key)",
        "    key k",
        "CONCERN  lost records: 7 (records are missing)",
        "    namesrv n\\x1b[2J",
        "    ... and 6 more",
    ]


def test_that_nothing_was_found_is_said():
    assert list(lines_of([])) == ["all is well"]
