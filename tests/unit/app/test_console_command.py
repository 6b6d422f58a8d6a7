"""The command of the console that the operators' page shows."""

import sys
from pathlib import Path

import pytest

from namekeeper.app.console_command import console_command
from namekeeper.http.stats import JournalStats


def test_it_reads_the_journal_of_this_name_server():
    words = console_command(JournalStats(folder=str(Path.cwd()), namesrv="ns_9876"), "", 9876)
    assert words[:4] == (sys.executable, "-m", "namekeeper", "console")
    assert words[-2:] == ("--journal", str(Path.cwd()))
    assert "--until-eof" in words


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "127.0.0.1:1"), ("0.0.0.0", "127.0.0.1:1"), ("::", "[::1]:1"), ("fd00::5", "[fd00::5]:1"),
        ("10.0.0.1", "10.0.0.1:1"),
    ],
)  # fmt: skip
def test_without_a_journal_it_asks_the_name_server(host, address):
    for journal in (None, JournalStats(folder="", namesrv="")):
        assert console_command(journal, host, 1)[-2:] == ("--namesrv", address)
