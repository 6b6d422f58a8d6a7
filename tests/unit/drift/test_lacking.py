"""What one name server lacks, for how long, and why that is: the parts of incidents of drift."""

from collections.abc import Callable, Sequence

import pytest

from namekeeper.common.expected import TOGETHER_MS
from namekeeper.drift.disagreement import TopicSubject
from namekeeper.drift.lacking import TIMES_LIMIT, DriftCause, LackingFinder, LackingPeriod
from namekeeper.drift.witness import Witness
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import A, align_ends, changes_queues, fleet


def lacking(stories: Sequence[Story]) -> list[LackingPeriod]:
    """Every part of the whole time, in order."""
    horizon = align_ends(stories)
    finder = LackingFinder([Witness(each.history(), horizon + 1) for each in stories], horizon)
    found = [period for each in finder.changed_since(0) for period in finder.of_subject(each)]
    return sorted(found, key=lambda each: (each.since, each.namesrv))


def is_wiped_and_given_back(story: Story) -> None:
    """The row of a topic without the permission to write comes from another request than a wipe."""
    story.wiped("broker-a")
    story.later(5 * MINUTE)
    changes_queues(story, A, "orders", 16)


@pytest.mark.parametrize(
    ("happens", "causes"),
    [
        (lambda story: story.connection_breaks(A), [("broker_missing", "ns-2")]),
        (lambda story: changes_queues(story, A, "orders", 16), [("queues_differ", "ns-1"), ("queues_differ", "ns-2")]),
        (lambda story: story.ordered("t", "broker-a:4"), [("order_differs", "ns-1")]),
        (lambda story: story.wiped("broker-a"), []),
        (is_wiped_and_given_back, [("queues_differ", "ns-1"), ("queues_differ", "ns-2")]),
    ],
)  # fmt: skip
def test_the_cause_says_what_is_lacking_and_where(
    happens: Callable[[Story], object], causes: list[tuple[str, str]]
):
    stories = fleet(2)
    happens(stories[1])
    assert [(str(each.cause), each.namesrv) for each in lacking(stories)] == causes


def test_a_topic_of_a_broker_that_one_does_not_have_is_not_lacking_there():
    stories = fleet(2)
    stories[1].connection_breaks(A)
    assert not any(isinstance(each.subject, TopicSubject) for each in lacking(stories))


def test_each_name_server_lacks_it_for_its_own_time():
    stories = fleet(3)
    first = stories[0].connection_breaks(A)
    stories[1].later(TOGETHER_MS)
    second = stories[1].connection_breaks(A)
    stories[2].later(3 * MINUTE)
    over = stories[2].connection_breaks(A)
    assert [(each.namesrv, each.since, each.to, each.is_open) for each in lacking(stories)] == [
        ("ns-1", first, over, False),
        ("ns-2", second, over, False),
    ]


def test_of_a_subject_that_changes_often_the_newest_times_are_compared():
    stories = fleet(2)
    for _ in range(TIMES_LIMIT):
        stories[1].connection_breaks(A)
        stories[1].later(MINUTE)
        stories[1].registers("broker-a", A, ("orders",))
        stories[1].later(MINUTE)
    found = lacking(stories)
    assert TIMES_LIMIT // 2 - 5 < len(found) < TIMES_LIMIT // 2 + 1
    assert {each.cause for each in found} == {DriftCause.BROKER_MISSING}
    assert found[-1].to > stories[1].now - 4 * MINUTE
