"""`namekeeper console`: what it opens, and what it refuses. The page itself: tests/browser."""

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands.console import journal_histories, live_histories
from namekeeper.cli.connecting import Connector
from namekeeper.cli.group import namekeeper
from namekeeper.console.histories import Histories
from namekeeper.errors import ConfigError, JournalError
from tests.unit.answers.story import Story


@pytest.fixture
def folders(tmp_path):
    found = []
    for name in ("a_1", "b_1"):
        story = Story(name)
        story.registers()
        found.append(story.folder(tmp_path / name))
    return found


def test_a_folder_may_hold_several_journals(folders, tmp_path):
    histories = Histories(journal_histories([str(tmp_path)]))
    assert [each.versions.namesrv for each in histories.followed] == ["a_1", "b_1"]
    assert len(journal_histories([*folders, folders[0]])) == 2


def test_two_journals_of_one_name_server_are_refused(folders, tmp_path):
    again = Story("a_1").folder(tmp_path / "again")
    with pytest.raises(ConfigError, match="are both the journal of a_1"):
        journal_histories([folders[0], again])


def test_a_folder_without_a_journal_is_refused(tmp_path):
    with pytest.raises(JournalError, match="is not a journal"):
        journal_histories([str(tmp_path)])


def test_each_address_of_a_list_is_asked_once():
    live = live_histories(("127.0.0.1:1;127.0.0.1:2", "127.0.0.1:1"), Connector(lambda: None), 5)
    assert [each.followed.versions.namesrv for each in live] == ["127.0.0.1:1", "127.0.0.1:2"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--journal", "/nowhere"), "can't read /nowhere"),
        (("--namesrv", "no port"), "no port"),
        (("--port", "99999"), "99999 is not in the range"),
    ],
)
def test_what_can_not_be_used_is_refused(words, says):
    result = CliRunner().invoke(namekeeper, ["console", *words])
    assert result.exit_code == 2
    assert says in result.output
