"""The operators' pages of a running server: the command of their console, and which files are the journal's."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from namekeeper.app.pages import console_command, journal_files
from namekeeper.config.settings import NamesrvSettings
from namekeeper.http.console_process import NoConsoleError
from namekeeper.http.stats import JournalStats
from tests.unit.answers.story import Story


def command(journal: JournalStats | None, **settings: Any) -> Sequence[str]:
    return console_command(lambda: journal, NamesrvSettings(**settings), settings["listen_port"])


def test_it_reads_the_journal_of_this_name_server():
    words = command(
        JournalStats(folder=str(Path.cwd()), namesrv="ns_9876"),
        bind_address="",
        listen_port=9876,
        journal_enable=True,
        console_history_bytes=5,
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
    assert command(None, bind_address=host, listen_port=1, journal_enable=False, console_history_bytes=5)[
        -2:
    ] == ("--namesrv", address)


def test_it_waits_for_a_journal_that_is_being_opened_and_not_for_one_that_can_not_be():
    for journal in (None, JournalStats(namesrv="")):
        with pytest.raises(NoConsoleError, match="opens its journal"):
            command(journal, bind_address="", listen_port=1, journal_enable=True, console_history_bytes=5)
    unusable = JournalStats(namesrv="", is_writable=False)
    assert "--namesrv" in command(
        unusable, bind_address="", listen_port=1, journal_enable=True, console_history_bytes=5
    )


def test_the_history_has_the_memory_that_is_configured():
    words = command(None, bind_address="", listen_port=1, journal_enable=False, console_history_bytes=123_456)
    assert words[words.index("--history-bytes") + 1] == "123456"


def test_the_identity_and_the_segments_are_listed_and_nothing_else(tmp_path):
    story = Story("ns_1")
    story.registers()
    story.folder(tmp_path, per_segment=3)
    (tmp_path / "secret.txt").touch()
    folder, names = journal_files(JournalStats(folder=str(tmp_path), namesrv="ns_1"))
    assert folder == tmp_path
    segments = sorted(path.name for path in tmp_path.glob("ns_1-*"))
    assert len(segments) > 1
    assert names() == ["identity.json", *segments]


def test_a_folder_that_is_gone_has_no_files(tmp_path):
    _, names = journal_files(JournalStats(folder=str(tmp_path / "gone"), namesrv="ns_1"))
    assert names() == []


def test_without_an_open_journal_there_is_nothing_to_list():
    assert journal_files(None) is None
    assert journal_files(JournalStats(folder="/somewhere")) is None
