"""Options that many commands share stand in groups."""

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper


@pytest.mark.parametrize("command", ["why", "history", "route-at", "past", "audit"])
def test_options_stand_in_groups_behind_those_of_the_command(command):
    lines = CliRunner().invoke(namekeeper, [command, "--help"]).stdout.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "Options:",
        "Where the history is:",
        "Operators' pages:",
        "TLS and signatures:",
        "Spark:",
    ]
    assert lines.index("Spark:") < next(at for at, line in enumerate(lines) if line.startswith("  --memory"))
    assert lines.index("Options:") < next(at for at, line in enumerate(lines) if line.startswith("  --zone"))
