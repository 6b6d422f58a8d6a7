"""Journal folders as the source of answers."""

import contextlib

import pytest

from namekeeper.answers.explain import explain
from namekeeper.answers.source import JournalAnswers
from namekeeper.answers.verdict import Verdict
from namekeeper.errors import ConfigError
from namekeeper.journal.disk.heard_file import HeardTimes, save_heard
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.coverage import Knowledge
from tests.unit.answers.story import Story


@pytest.fixture
def folders(tmp_path):
    stories = {name: Story(name) for name in ("a_1", "b_1")}
    stories["a_1"].registers()
    stories["b_1"].alive()
    return [story.folder(tmp_path / name) for name, story in stories.items()]


def test_each_name_server_answers_for_itself(folders):
    source = JournalAnswers(folders)
    at = Story().now + 1_000
    first, second = source.routes("T", at)
    assert (first.namesrv, first.knowledge, first.at) == ("a_1", Knowledge.KNOWN, at)
    assert [data.broker_name for data in first.route.queue_datas] == ["b0"]
    assert (second.namesrv, second.route) == ("b_1", None)
    assert [each.namesrv for each in source.evidence("T", None)] == ["a_1", "b_1"]
    assert source.notes == []


def test_where_nothing_is_known_there_is_no_route(folders):
    (found,) = JournalAnswers(folders[:1]).routes("T", Story().now + 2_000)
    assert (found.knowledge, found.route) == (Knowledge.NOT_YET, None)
    assert found.knows_up_to == Story().now + 1_000


def test_all_that_one_of_them_held(folders):
    source = JournalAnswers(folders)
    assert source.namesrvs() == ["a_1", "b_1"]
    found = source.held("a_1", None)
    assert (found.namesrv, found.knowledge, found.at) == ("a_1", Knowledge.KNOWN, found.knows_up_to)
    assert sorted(found.state.tables.topics()) == ["T", "more", "other"]
    later = source.held("a_1", found.at + 1)
    assert (later.knowledge, later.state) == (Knowledge.NOT_YET, None)


def test_the_present_of_an_observed_name_server_is_its_last_answer(folders):
    """The last answer is some seconds old; `--at now` was not known yet."""
    last = Story().now + 1_000
    with running(folders[0], last + 500), running(folders[1], last + 300):
        source = JournalAnswers(folders)
        assert [source.instant(at) for at in (None, last, last + 301, last + 5_000)] == [
            None,
            last,
            last + 300,
            last + 300,
        ]
        assert source.instant(last + 60_000) == last + 60_000, "it does not answer"
        (found,) = explain([source.evidence("T", source.instant(last + 2_000))[0]], last + 300)
        assert found.verdict is Verdict.HAS_ROUTE
    assert JournalAnswers(folders).instant(last + 2_000) == last + 2_000, "nobody writes"


@contextlib.contextmanager
def running(folder, answered):
    """An observer writes the journal; its name server answered then."""
    save_heard(folder, HeardTimes(0, [], ts=answered, is_observed=True))
    release = take_lock(folder)
    try:
        yield
    finally:
        release()


def test_one_of_them_may_be_asked(folders):
    source = JournalAnswers(folders, "b_1")
    assert [each.namesrv for each in source.routes("T", 5)] == ["b_1"]
    with pytest.raises(ConfigError, match="there is no journal of 'c_1'; the journals are of a_1, b_1"):
        JournalAnswers(folders, "c_1")


def test_two_journals_of_one_name_server_are_refused(folders, tmp_path):
    again = Story("a_1").folder(tmp_path / "again")
    with pytest.raises(ConfigError, match="both the journal of a_1"):
        JournalAnswers([*folders, again])
    assert len(JournalAnswers([folders[0], folders[0]]).routes("T", 5)) == 1


def test_reading_is_reported_with_its_folder(folders):
    reported = []
    JournalAnswers(folders, progress=lambda *what: reported.append(what)).routes("T", 5)
    assert reported == [(folder, done, 1) for folder in folders for done in (0, 1)]


def test_what_could_not_be_read_is_reported_with_its_folder(folders):
    from pathlib import Path

    (file,) = Path(folders[1]).iterdir()
    file.write_bytes(file.read_bytes() + b"{")
    source = JournalAnswers(folders)
    source.routes("T", 5)
    assert all(note.startswith(f"{folders[1]}: ") for note in source.notes)
    assert len(source.notes) == 2


def test_journals_of_several_hosts_shipped_into_one_folder_are_all_read(folders, tmp_path):
    from pathlib import Path

    shipped = tmp_path / "shipped"
    shipped.mkdir()
    for folder in folders:
        for file in Path(folder).glob("*.jsonl*"):
            (shipped / file.name).write_bytes(file.read_bytes())
    assert [each.namesrv for each in JournalAnswers([str(shipped)]).routes("T", 5)] == ["a_1", "b_1"]


def test_a_folder_of_journals_stands_for_all_of_them(folders, tmp_path):
    source = JournalAnswers([str(tmp_path)])
    assert [each.namesrv for each in source.evidence("T", None)] == ["a_1", "b_1"]
