"""The sub-commands of `namekeeper journal` are where the table says."""

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.journal import JOURNAL_COMMANDS, journal


def test_help_lists_the_commands():
    result = CliRunner().invoke(journal, ["-h"])
    assert result.exit_code == 0
    assert all(name in result.output for name in JOURNAL_COMMANDS)


@pytest.mark.parametrize("name", JOURNAL_COMMANDS)
def test_every_command_is_where_the_table_says(name):
    assert isinstance(journal.get_command(click.Context(journal), name), click.Command)
