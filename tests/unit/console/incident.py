"""Two name servers that lived through an incident, as the console has them."""

from namekeeper.console.histories import Followed, Histories
from namekeeper.history.sources.running import RunningSource
from tests.unit.admin.fake_namesrv import FakeSender
from tests.unit.answers.story import Story

__all__ = ["followed_of", "histories_of", "two_stories"]


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


def followed_of(*stories: Story) -> list[Followed]:
    return [Followed(story.history(), progress=(1, 1)) for story in stories]


def histories_of(*stories: Story) -> Histories:
    """Histories that have read everything."""
    found = sorted(followed_of(*stories), key=lambda each: each.history.namesrv)
    histories = Histories([RunningSource([each.history.namesrv for each in found], FakeSender({}).opened, 1)])
    for history, followed in zip(histories.all, found, strict=True):
        followed.history.limit_bytes = history.followed.history.limit_bytes
        history.followed = followed
    return histories
