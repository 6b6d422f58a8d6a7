"""Two name servers that lived through an incident, as the console has them."""

from namekeeper.answers.row_versions import RowVersions
from namekeeper.console.histories import Followed, Histories
from namekeeper.journal.reading.history import steps
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story

__all__ = ["followed_of", "histories_of", "two_stories", "versions_of"]


def two_stories() -> tuple[Story, Story]:
    """A topic is deleted at the second one only; before, a broker was away at both, and wiped."""
    stories = Story("a_1"), Story("b_1")
    for story in stories:
        story.registers("b0", "a0:1", ("T", "payments"))
        story.registers("b1", "a1:1", ("T",))
        story.wiped("b0")
        story.connection_breaks("a1:1")
        story.later(60_000)
        story.registers("b1", "a1:1", ("T",))
    stories[1].deleted("payments")
    stories[0].alive()
    return stories


def versions_of(story: Story) -> RowVersions:
    versions = RowVersions(story.journal.namesrv)
    for step in steps(read_records(story.journal.lines())):
        versions.take(step)
    return versions


def followed_of(*stories: Story) -> list[Followed]:
    return [Followed(versions_of(story), progress=(1, 1)) for story in stories]


class _Given:
    """A source that has read everything."""

    def __init__(self, followed: Followed) -> None:
        self.followed = followed

    def begin(self, _lock: object, /) -> bool:
        return False

    def read(self, _lock: object) -> bool:
        return False


def histories_of(*stories: Story) -> Histories:
    return Histories(map(_Given, followed_of(*stories)))
