"""Commands are listed without being imported, and found where the table says."""

import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli import mqadmin
from namekeeper.cli.group import (
    ACCESS_COMMANDS,
    COMMANDS,
    EXPECT_COMMANDS,
    JOURNAL_COMMANDS,
    MAINTENANCE_COMMANDS,
    MESSAGES_COMMANDS,
    PIPELINE_COMMANDS,
    LazyGroup,
    access,
    expect,
    journal,
    maintenance,
    messages,
    namekeeper,
    pipeline,
)

GROUPS = [
    (namekeeper, COMMANDS),
    (access, ACCESS_COMMANDS),
    (expect, EXPECT_COMMANDS),
    (maintenance, MAINTENANCE_COMMANDS),
    (journal, JOURNAL_COMMANDS),
    (messages, MESSAGES_COMMANDS),
    (pipeline, PIPELINE_COMMANDS),
    (mqadmin.admin, mqadmin.COMMANDS),
]


@pytest.mark.parametrize(("group", "commands"), GROUPS)
def test_help_lists_the_commands(group, commands):
    result = CliRunner().invoke(group, ["-h"])
    assert result.exit_code == 0
    output = " ".join(result.output.split())
    for name, (_, text) in commands.items():
        assert f"{name} {text}" in output


def test_listing_imports_nothing():
    group = LazyGroup({"x": ("no_such_module:x", "Text.")}, help="Help.")
    assert "Text." in CliRunner().invoke(group, ["--help"]).output
    assert group.get_command(click.Context(group), "y") is None


def test_every_command_is_where_the_table_says():
    for group, commands in GROUPS:
        for name in commands:
            assert isinstance(group.get_command(click.Context(group), name), click.Command), name


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


PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "exit-codes.md").read_text()
ROWS = {
    name: [cell.strip() for cell in cells.split("|")]
    for names, cells in re.findall(r"^\| (`[^|]+) \| (.*) \|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`([^`]+)`", names)
}
"""Command -> the cells for 1, 2, 3 and 4."""


def test_the_page_of_exit_codes_has_every_command():
    inner = {
        "access": ACCESS_COMMANDS, "expect": EXPECT_COMMANDS, "journal": JOURNAL_COMMANDS,
        "maintenance": MAINTENANCE_COMMANDS, "messages": MESSAGES_COMMANDS, "pipeline": PIPELINE_COMMANDS,
    }  # fmt: skip
    every = {name for name in COMMANDS if name not in inner}
    every |= {f"{group} {name}" for group, commands in inner.items() for name in commands}
    assert set(ROWS) == every


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("admin topicList --no-such", 1),
        ("access check /nowhere", 2),
        ("console --journal /nowhere", 2),
        ("history T --journal /nowhere", 2),
        ("journal ls /nowhere", 2),
        ("journal replay /nowhere", 2),
        ("past --journal /nowhere --at 03:12", 2),
        ("route-at T --journal /nowhere", 2),
        ("why T --at soon --journal /nowhere", 2),
        ("compare 127.0.0.1:1 127.0.0.1:1", 3),
        ("admin topicList -n 127.0.0.1:1", 3),
    ],
)
def test_a_command_ends_as_the_page_says(command, code):
    words = command.split()
    result = CliRunner().invoke(namekeeper, words)
    assert result.exit_code == code, result.output
    row = ROWS.get(words[0]) or ROWS[" ".join(words[:2])]
    assert row[code - 1]
