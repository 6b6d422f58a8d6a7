"""Which files are the journal's."""

from namekeeper.app.journal_files import journal_files
from namekeeper.http.stats import JournalStats
from tests.unit.answers.story import Story


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
