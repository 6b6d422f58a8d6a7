"""Name servers of two clusters in one console, which have equal names: only those of one are compared."""

from collections.abc import Sequence

import pytest

from namekeeper.common.expected import SHORTEST_DRIFT_MS
from namekeeper.console.views import ConsoleViews
from tests.unit.answers.story import Story
from tests.unit.console.incident import histories_of
from tests.unit.console.test_histories import Clock

DAY_MS = 86_400_000


def east_and_west() -> list[Story]:
    """Two name servers of one cluster, and one of another: equal names, other addresses, other topics."""
    stories = [Story("east_1"), Story("east_2"), Story("west_1")]
    for story in stories[:2]:
        story.registers("b0", "10.1.0.1:1", ("T", "east-only"))
    stories[2].registers("b0", "10.2.0.1:1", ("T", "west-only"), perm=4)
    return stories


def views_of(stories: Sequence[Story]) -> ConsoleViews:
    last = max(story.now for story in stories)
    for story in stories:
        story.later(last - story.now + 1)
        story.alive()
    return ConsoleViews(histories_of(*stories), None, Clock(last + 5))


@pytest.fixture
def stories() -> list[Story]:
    return east_and_west()


def test_nothing_differs(stories):
    found = views_of(stories).troubles({})
    assert (found["topics_differ"], found["brokers_differ"]) == (0, 0)
    assert (found["known"], found["compared"]) == (3, 2)


def test_topics_are_counted_in_each_cluster(stories):
    views = views_of(stories)
    rows = views.topics({})["rows"]
    assert [(row["topic"], sorted(row["writable"])) for row in rows] == [
        ("T", ["east_1", "east_2"]),
        ("T", ["west_1"]),
        ("east-only", ["east_1", "east_2"]),
        ("more", ["east_1", "east_2"]),
        ("more", ["west_1"]),
        ("other", ["east_1", "east_2"]),
        ("other", ["west_1"]),
        ("west-only", ["west_1"]),
    ]
    assert views.troubles({})["topics"] == len(rows)
    assert [len(row["routes"]) for row in rows] == [1] * len(rows)
    assert views.topics({"only": "differs"})["total"] == 0


def test_a_topic_without_a_queue_to_write_to_is_so_in_its_own_cluster_only(stories):
    views = views_of(stories)
    rows = views.topics({"only": "unwritable"})["rows"]
    assert [(row["topic"], row["writable"]) for row in rows] == [("T", {"west_1": False})]
    assert views.troubles({})["unwritable"] == 1


def test_brokers_stand_beside_the_name_servers_of_their_cluster(stories):
    views = views_of(stories)
    rows = views.brokers({})["rows"]
    assert [(row["addr"], sorted(row["at"])) for row in rows] == [
        ("10.1.0.1:1", ["east_1", "east_2"]),
        ("10.2.0.1:1", ["west_1"]),
    ]
    assert views.brokers({"only": "differs"})["rows"] == []


def test_a_difference_inside_a_cluster_is_found(stories):
    gone = stories[1].deleted("east-only")
    for story in stories:
        story.later()
    found = views_of(stories)
    assert found.troubles({"at": str(gone + SHORTEST_DRIFT_MS - 1)})["topics_differ"] == 0
    assert [row["topic"] for row in found.topics({"only": "differs"})["rows"]] == ["east-only"]
    assert found.troubles({})["topics_differ"] == 1


def test_name_servers_of_two_clusters_are_not_compared(stories):
    views = views_of(stories)
    assert views.compare({"a": "east_1", "b": "west_1"})["why_not"] == (
        "east_1 and west_1 are in different clusters: they share no broker address"
    )
    assert views.compare({"a": "east_1", "b": "east_2"})["why_not"] == ""
    assert {row["namesrv"]: row["compared_with"] for row in views.overview({})["namesrvs"]} == {
        "east_1": ["east_2"],
        "east_2": ["east_1"],
        "west_1": [],
    }


def test_a_broker_that_went_still_tells_the_cluster_for_seven_days(stories):
    stories[1].unregisters("10.1.0.1:1")
    gone = stories[1].now
    for story in stories:
        story.later(8 * DAY_MS)
    views = views_of(stories)
    for at, differ in ((gone + SHORTEST_DRIFT_MS, 1), (gone + 7 * DAY_MS - 1, 1), (gone + 7 * DAY_MS, 0)):
        assert views.troubles({"at": str(at)})["brokers_differ"] == differ
    assert views.compare({"a": "east_1", "b": "east_2", "b_at": str(gone)})["why_not"] == ""


def test_brokers_that_are_missing_are_counted_in_each_cluster(stories):
    for story, addr in zip(stories, ("10.1.0.1:1", "10.1.0.1:1", "10.2.0.1:1"), strict=True):
        story.connection_breaks(addr)
    found = views_of(stories).troubles({})
    assert (found["brokers_missing"], found["topics_missing"]) == (2, 4 + 4)
    assert [row["namesrvs"] for row in found["missing"]] == [["east_1", "east_2"], ["west_1"]]
