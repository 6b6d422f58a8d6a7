"""Two name servers with an incident, and the answers from their journals."""

from pathlib import Path

import pytest

from namekeeper.answers.source import JournalAnswers
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories


@pytest.fixture
def stories() -> tuple[Story, Story]:
    return two_stories()


@pytest.fixture
def source(stories: tuple[Story, Story], tmp_path: Path) -> JournalAnswers:
    return JournalAnswers([story.folder(tmp_path / story.journal.namesrv) for story in stories])
