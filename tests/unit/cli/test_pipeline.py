"""The table of `namekeeper pipeline`."""

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.pipeline import PIPELINE_COMMANDS, pipeline


@pytest.mark.parametrize("name", PIPELINE_COMMANDS)
def test_every_sub_command_is_there(name: str):
    command = pipeline.get_command(click.Context(pipeline), name)
    assert command is not None
    assert command.name == name


def test_help_lists_them():
    done = CliRunner().invoke(pipeline, ["--help"])
    assert done.exit_code == 0
    assert all(name in done.output for name in PIPELINE_COMMANDS)
