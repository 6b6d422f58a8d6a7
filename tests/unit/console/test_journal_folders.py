"""Journals in folders: those that are there, those that come later, and those that can't be followed."""

import shutil

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


def test_a_journal_whose_name_server_is_gone_is_followed_no_more_until_it_is_back(tmp_path):
    made, given = tmp_path / "made", tmp_path / "given"
    for folder, name in ((made, "a_1"), (made, "b_1"), (given, "c_1")):
        write(folder / name, name)
    gone = {str(made / "b_1"), str(given / "c_1")}
    folders = JournalFolders([str(given)], str(made), has_left=lambda found: found.folder in gone)
    assert names(folders.look()) == ["c_1", "a_1"], "only journals of the process itself are left out"
    gone.clear()
    assert (folders.drop_left(), names(folders.look())) == ([], ["b_1"])
    gone.add(str(made / "b_1"))
    assert folders.drop_left() == ["b_1"]
    assert (folders.look(), sorted(folders.by_name)) == ([], ["a_1", "c_1"])
    gone.clear()
    assert names(folders.look()) == ["b_1"]


def test_a_journal_in_the_folder_of_the_process_that_the_user_named_is_always_followed(tmp_path):
    write(tmp_path / "a", "a_1")
    folders = JournalFolders([str(tmp_path / "a")], str(tmp_path), has_left=lambda _: True)
    assert names(folders.look()) == ["a_1"]
    assert folders.drop_left() == []


def test_a_journal_that_was_removed_from_a_folder_of_several_is_followed_no_more(tmp_path):
    for name in "ab":
        write(tmp_path / "some" / name, f"{name}_1")
    folders = JournalFolders([str(tmp_path / "some")])
    folders.look()
    (tmp_path / "some").rename(tmp_path / "unmounted")
    assert folders.drop_left() == [], "the folder of all of them is gone: a problem, as before"
    (tmp_path / "unmounted").rename(tmp_path / "some")
    shutil.rmtree(tmp_path / "some" / "a")
    assert folders.drop_left() == ["a_1"]
    assert sorted(folders.by_name) == ["b_1"]


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
