"""Journals in folders: those that are there, those that come later, and those that can't be followed."""

import pytest

from namekeeper.console.journal_folders import JournalFolders
from namekeeper.errors import ConfigError, JournalError
from tests.unit.answers.story import Story


def write(path, namesrv, label=""):
    story = Story(namesrv, label)
    story.registers()
    return story.folder(path)


def names(sources):
    return [name for each in sources for name in each.namesrvs()]


def test_a_journal_that_appears_later_is_found_once(tmp_path):
    write(tmp_path / "a", "a_1")
    folders = JournalFolders([str(tmp_path)])
    assert names(folders.open()) == ["a_1"]
    write(tmp_path / "b", "b_1")
    assert names(folders.look()) == ["b_1"]
    assert folders.look() == []
    assert [str(each) for each in folders.found] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert folders.problems == {}


def test_a_folder_that_is_missing_is_refused_at_first_and_followed_once_it_is_there(tmp_path):
    folders = JournalFolders([str(tmp_path / "a")])
    with pytest.raises(JournalError, match="can't read"):
        folders.open()
    assert folders.look() == []
    assert "can't read" in folders.problems[str(tmp_path / "a")]
    write(tmp_path / "a", "a_1")
    assert names(folders.look()) == ["a_1"]
    assert folders.problems == {}


def test_a_folder_that_the_process_fills_is_no_problem_while_it_is_empty(tmp_path):
    folders = JournalFolders([], str(tmp_path))
    assert (folders.look(), folders.problems) == ([], {})
    write(tmp_path / "a", "a_1")
    assert names(folders.look()) == ["a_1"]


def test_a_second_journal_of_one_name_server_is_a_problem(tmp_path):
    write(tmp_path / "a", "a_1")
    folders = JournalFolders([], str(tmp_path))
    folders.look()
    write(tmp_path / "b", "a_1")
    assert folders.look() == []
    assert "both the journal of a_1" in folders.problems[str(tmp_path / "b")]
    with pytest.raises(ConfigError, match="both the journal of a_1"):
        JournalFolders([str(tmp_path)]).open()


def test_only_journals_with_the_label_are_followed(tmp_path):
    write(tmp_path / "a", "a_1", "east")
    write(tmp_path / "b", "b_1", "west")
    write(tmp_path / "c", "c_1")
    folders = JournalFolders([str(tmp_path)], label="east")
    assert names(folders.open()) == ["a_1"]
    write(tmp_path / "d", "d_1", "east")
    write(tmp_path / "e", "e_1", "west")
    assert names(folders.look()) == ["d_1"]
    assert [str(each) for each in folders.found] == [str(tmp_path / "a"), str(tmp_path / "d")]


def test_a_label_that_no_journal_has_is_refused(tmp_path):
    write(tmp_path / "a", "a_1", "east")
    write(tmp_path / "b", "b_1")
    with pytest.raises(ConfigError, match="there is no cluster 'north': the labels are east"):
        JournalFolders([str(tmp_path)], label="north").open()
