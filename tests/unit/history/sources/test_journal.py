"""Journals as a source of steps: all of them, those about a name, and those from a time on."""

import pytest

from namekeeper.errors import ConfigError, JournalError
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, TopicKey
from namekeeper.history.sources.journal import JournalSource
from namekeeper.history.sources.source import HistorySource, Present
from namekeeper.journal.reading.reader import FoundJournal
from tests.unit.answers.story import Story


@pytest.fixture
def story():
    story = Story()
    story.registers("b0", "a0:1", ("T", "U"))
    for _ in range(3):
        story.later()
        story.journal.begin_checkpoint("interval")
        story.journal.go_on_with_checkpoint(1_000)
        story.wiped()
        story.registers("b0", "a0:1", ("T", "U"))
    return story


def followed(source: HistorySource, *asked) -> History:
    (namesrv,) = source.namesrvs()
    history = History(namesrv, *asked[:1])
    for step in source.steps(namesrv, *asked):
        history.take(step)
    return history


def test_all_steps_come_once(story, tmp_path):
    source = JournalSource([FoundJournal(story.folder(tmp_path, per_segment=5))])
    (namesrv,) = source.namesrvs()
    steps = source.steps(namesrv)
    assert [*steps]
    assert [*steps] == []
    assert (steps.problem, steps.notes) == ("", [])
    assert steps.progress[0] == steps.progress[1] > 1


def test_about_a_name_only_topics_of_that_name_come(story, tmp_path):
    source = JournalSource([FoundJournal(story.folder(tmp_path, per_segment=5))])
    every, about = followed(source), followed(source, "T")
    assert {key.topic for key in every.keys(TopicKey)} > {key.topic for key in about.keys(TopicKey)} == {"T"}
    key = TopicKey("T", "b0")
    assert [*about.changes_of(key)] == [*every.changes_of(key)]
    assert set(about.keys(GroupKey)) == set(every.keys(GroupKey))


def test_from_a_time_on_reading_begins_with_the_checkpoint_before_it(story, tmp_path):
    source = JournalSource([FoundJournal(story.folder(tmp_path, per_segment=5))])
    every, late = followed(source), followed(source, None, story.now)
    assert every.knows_from < late.knows_from <= story.now
    assert dict(late.rows(TopicKey, story.now)) == dict(every.rows(TopicKey, story.now))


@pytest.mark.parametrize("is_part", [False, True])
def test_the_label_of_the_cluster_is_known_wherever_reading_begins(is_part, tmp_path):
    story = Story(cluster_label="east")
    for _ in range(3):
        story.registers()
        story.journal.begin_checkpoint("interval")
        story.journal.go_on_with_checkpoint(1_000)
    source = JournalSource([FoundJournal(story.folder(tmp_path, per_segment=5))])
    since = story.now if is_part else None
    assert followed(source, None, since).cluster_label == "east"
    (namesrv,) = source.namesrvs()
    end = source.steps(namesrv).end()
    assert end is not None
    assert end.cluster_label == "east"


def test_the_label_of_the_last_start_counts(tmp_path):
    story = Story()
    story.registers()
    story.journal.cluster_label = "east"
    story.journal.stop()
    story.journal.start()
    assert followed(JournalSource([FoundJournal(story.folder(tmp_path))])).cluster_label == "east"


def test_a_part_says_nothing_of_the_present(story, tmp_path):
    source = JournalSource([FoundJournal(story.folder(tmp_path))])
    (namesrv,) = source.namesrvs()
    part = source.steps(namesrv, "T")
    assert (part.present(followed(source).coverage), part.end()) == (Present(), None)


def test_two_journals_of_one_name_server_are_refused(story, tmp_path):
    found = FoundJournal(story.folder(tmp_path / "a"))
    assert len(JournalSource([found, found]).namesrvs()) == 1
    with pytest.raises(ConfigError, match="are both the journal of"):
        JournalSource([found, FoundJournal(story.folder(tmp_path / "b"))])


def test_a_folder_without_a_journal_is_refused(tmp_path):
    with pytest.raises(JournalError, match="is not a journal"):
        JournalSource([FoundJournal(str(tmp_path))])
