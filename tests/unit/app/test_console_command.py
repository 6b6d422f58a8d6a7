"""The command of the console that the operators' page shows."""

import sys
from pathlib import Path

import pytest

from namekeeper.app.console_command import console_command
from namekeeper.http.console_process import NoConsoleError
from namekeeper.http.stats import JournalStats


def test_it_reads_the_journal_of_this_name_server():
    words = console_command(
        JournalStats(folder=str(Path.cwd()), namesrv="ns_9876"), "", 9876, has_journal=True, history_bytes=5
    )
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
    assert console_command(None, host, 1, has_journal=False, history_bytes=5)[-2:] == ("--namesrv", address)


def test_it_waits_for_a_journal_that_is_being_opened_and_not_for_one_that_can_not_be():
    for journal in (None, JournalStats(namesrv="")):
        with pytest.raises(NoConsoleError, match="opens its journal"):
            console_command(journal, "", 1, has_journal=True, history_bytes=5)
    unusable = JournalStats(namesrv="", is_writable=False)
    assert "--namesrv" in console_command(unusable, "", 1, has_journal=True, history_bytes=5)


def test_the_history_has_the_memory_that_is_configured():
    words = console_command(None, "", 1, has_journal=False, history_bytes=123_456)
    assert words[words.index("--history-bytes") + 1] == "123456"
