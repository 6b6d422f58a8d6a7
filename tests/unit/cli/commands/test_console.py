"""`namekeeper console`: what it opens, and what it refuses. The page itself: tests/browser."""

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--journal", "/nowhere"), "can't read /nowhere"),
        (("--namesrv", "no port"), "no port"),
        (("--port", "99999"), "99999 is not in the range"),
        (("--warehouse", "/nowhere/at/all"), "no warehouse"),
        (("--warehouse", "w", "--journal", "j"), "give either --warehouse URI, or journals"),
        (("--http", "no port"), "no port"),
    ],
)
def test_what_can_not_be_used_is_refused(words, says):
    result = CliRunner().invoke(namekeeper, ["console", *words])
    assert result.exit_code == 2
    assert says in result.output
