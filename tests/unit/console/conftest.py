"""Two name servers with an incident, and the answers from their journals."""

import pytest

from namekeeper.answers.source import JournalAnswers
from tests.unit.console.incident import two_stories


@pytest.fixture
def stories():
    return two_stories()


@pytest.fixture
def source(stories, tmp_path):
    return JournalAnswers([story.folder(tmp_path / story.journal.namesrv) for story in stories])
