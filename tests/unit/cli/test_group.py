"""Commands are listed without being imported, and found where the table says."""

import sys

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.group import COMMANDS, LazyGroup, namekeeper


def test_help_lists_the_commands():
    result = CliRunner().invoke(namekeeper, ["-h"])
    assert result.exit_code == 0
    for name, (_, text) in COMMANDS.items():
        assert name in result.output
        assert text in result.output


def test_listing_imports_nothing():
    group = LazyGroup({"x": ("namekeeper.no_such_module:x", "Text.")}, help="Help.")
    assert "Text." in CliRunner().invoke(group, ["--help"]).output
    assert group.get_command(click.Context(group), "y") is None


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_table_says(name):
    assert isinstance(namekeeper.get_command(click.Context(namekeeper), name), click.Command)


def test_an_unknown_command_is_an_error():
    assert CliRunner().invoke(namekeeper, ["no-such"]).exit_code == 2


def test_serve_hands_everything_on(monkeypatch):
    seen = []
    monkeypatch.setattr("namekeeper.cli.serve.main", lambda arguments: seen.append(list(arguments)) or 3)
    result = CliRunner().invoke(namekeeper, ["serve", "--listen-port", "1", "-h"])
    assert (result.exit_code, seen) == (3, [["--listen-port", "1", "-h"]])


def test_the_module_can_be_run(monkeypatch, capsys):
    import runpy

    monkeypatch.setattr(sys, "argv", ["namekeeper", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("namekeeper", run_name="__main__")
    assert capsys.readouterr().out.startswith("namekeeper ")
