"""A shell completes commands and options."""

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from namekeeper.cli.mqadmin import admin


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_is_printed(shell):
    printed = CliRunner().invoke(namekeeper, ["completion", shell])
    assert printed.exit_code == 0
    assert "_NAMEKEEPER_COMPLETE" in printed.stdout
    assert "_MQADMIN_COMPLETE" in printed.stdout


@pytest.mark.parametrize(
    ("command", "name", "words", "completed"),
    [(namekeeper, "namekeeper", "namekeeper wh", "why"), (admin, "mqadmin", "mqadmin topicR", "topicRoute")],
)
def test_the_shell_is_answered(command, name, words, completed):
    done = CliRunner().invoke(
        command, prog_name=name,
        env={f"_{name.upper()}_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "1"},
    )  # fmt: skip
    assert f"plain,{completed}" in done.stdout.splitlines()
