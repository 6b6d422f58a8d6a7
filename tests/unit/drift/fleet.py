"""Name servers of one cluster that tests let live through something, each call a second after the one before."""

from collections.abc import Sequence

from namekeeper.drift.report import DriftReport, find_drift
from tests.differential.bodies import TopicConfig, registration
from tests.unit.answers.story import MINUTE, Story

__all__ = ["A", "B", "align_ends", "changes_queues", "fleet", "report"]

A, B = "10.0.0.1:10911", "10.0.0.2:10911"


def fleet(count: int = 3, label: str = "", prefix: str = "ns") -> list[Story]:
    """Name servers with two brokers each, both with the topic orders."""
    stories = [Story(f"{prefix}-{number}", label) for number in range(1, count + 1)]
    for story in stories:
        story.registers("broker-a", A, ("orders",))
        story.registers("broker-b", B, ("orders", "payments"))
    return stories


def changes_queues(story: Story, addr: str, topic: str, count: int) -> int:
    """A broker registers again, with other queues of a topic."""
    story.later(1_000)
    broker = story.brokers[addr]
    broker.topics[topic] = TopicConfig(read=count, write=count)
    broker.counter += 1
    story.journal.server.ask(registration(broker), story.connections[addr], story.journal.up_ms)
    return story.now


def align_ends(stories: Sequence[Story], after_ms: int = MINUTE) -> int:
    """Each writes its last record at the same time."""
    end = max(story.now for story in stories) + after_ms
    for story in stories:
        story.later(end - story.now - 1_000)
        story.alive()
    return end


def report(stories: Sequence[Story], at: int | None = None) -> DriftReport:
    """Drift at an instant, or at the end."""
    return find_drift([story.history() for story in stories], at)
