"""Missing brokers at an instant, out of the journals: what metrics count is what the page shows."""

import pytest

from namekeeper.console.instants import by_cluster, held_by_each
from namekeeper.console.missing import missing
from namekeeper.journal.contract.record import Config
from namekeeper.route.events import BrokerLiveGone, Cause, Change, TopicQueuesChanged
from tests.unit.answers.story import Story
from tests.unit.console.incident import followed_of

DAY_MS = 86_400_000


def missing_of(*stories: Story, at: int | None = None):
    for story in stories:
        story.alive()
    return missing(by_cluster(held_by_each([each.history for each in followed_of(*stories)], at)))


def two_brokers() -> Story:
    story = Story()
    story.registers("b0", "a0:1", ("T",))
    story.registers("b1", "a1:1", ("U",))
    return story


def test_while_every_broker_is_there_nothing_is_missing():
    assert missing_of(two_brokers()) == {"brokers_missing": 0, "topics_missing": 0, "missing": []}


def test_a_broker_that_died_is_missing_since_then_with_the_topics_that_only_it_had():
    story = two_brokers()
    died = story.connection_breaks("a1:1")
    found = missing_of(story)
    assert (found["brokers_missing"], found["topics_missing"]) == (1, 1)
    assert found["missing"] == [
        {
            "cluster": "c", "addr": "a1:1", "broker_name": "b1", "broker_id": 0, "since": died,
            "cause": "channel_closed", "namesrvs": ["ns_9876"], "topics": 1,
        }
    ]  # fmt: skip


def test_with_every_broker_dead_every_topic_is_missing():
    story = two_brokers()
    story.expires()
    found = missing_of(story)
    assert (found["brokers_missing"], found["topics_missing"]) == (2, 4)


def test_a_broker_that_stopped_in_order_is_not_missing():
    story = two_brokers()
    story.unregisters("a1:1")
    assert missing_of(story)["brokers_missing"] == 0


def test_a_broker_that_returned_is_not_missing_and_was_before():
    story = two_brokers()
    died = story.connection_breaks("a1:1")
    story.registers("b1", "a1:1", ("U",))
    assert missing_of(story)["brokers_missing"] == 0
    assert missing_of(story, at=died)["brokers_missing"] == 1


def test_a_broker_that_returned_at_another_address_is_not_missing():
    story = two_brokers()
    story.connection_breaks("a1:1")
    story.registers("b1", "a9:1", ("U",))
    assert missing_of(story)["brokers_missing"] == 0


def test_after_the_time_of_the_setting_a_broker_is_not_missing_any_more():
    story = two_brokers()
    story.connection_breaks("a1:1")
    story.later(DAY_MS - 60_000)
    assert missing_of(story)["brokers_missing"] == 1
    story.later(60_000)
    assert missing_of(story)["brokers_missing"] == 0


@pytest.mark.parametrize("text", ["9" * 5_000, "9" * 11, "-1", "x", ""])
def test_a_setting_that_is_no_number_counts_as_the_usual_time(text):
    story = two_brokers()
    story.journal.write(Config(properties={"missingWithinSeconds": text}))
    story.connection_breaks("a1:1")
    assert missing_of(story)["brokers_missing"] == 1
    story.later(DAY_MS)
    assert missing_of(story)["brokers_missing"] == 0


def test_a_dead_broker_is_missing_at_each_name_server_and_counts_once():
    stories = Story("a_1"), Story("b_1")
    for story in stories:
        story.registers("b0", "a0:1", ("T",))
        story.connection_breaks("a0:1")
        story.later(1_000)
    found = missing_of(*stories)
    assert (found["brokers_missing"], found["missing"][0]["namesrvs"]) == (1, ["a_1", "b_1"])


def test_a_broker_that_did_not_return_after_a_restart_is_missing():
    story = two_brokers()
    story.restarts_with_its_routes()
    story.registers("b0", "a0:1", ("T",))
    story.later(100_000)
    story.heard("a0:1")
    story.later(30_000)
    story.journal.server.scan(story.journal.up_ms)
    found = missing_of(story)
    assert [each["addr"] for each in found["missing"]] == ["a1:1"]


@pytest.mark.parametrize("topic", ["U", "T"])
def test_a_topic_that_was_deleted_is_not_missing(topic):
    story = two_brokers()
    story.deleted(topic)
    story.expires()
    assert missing_of(story)["topics_missing"] == 3


def test_a_dead_broker_that_was_retired_and_a_dead_topic_that_was_deleted_are_not_missing():
    story = two_brokers()
    story.expires()
    gone = BrokerLiveGone("c", "a0:1", "b0", 0, 1, Cause.UNREGISTER, 0, 0)
    story.later()
    story.journal.changed(Change(Cause.UNREGISTER, "admin:1", (gone,)))
    story.journal.changed(
        Change(Cause.DELETE_TOPIC, "admin:1", (TopicQueuesChanged("b1", {}, {}, ("more",)),))
    )
    found = missing_of(story)
    assert [each["addr"] for each in found["missing"]] == ["a1:1"]
    assert found["topics_missing"] == 2
