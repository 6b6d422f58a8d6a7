"""A topic and a broker over time."""

from namekeeper.console.subjects import broker_lanes, topic_lanes
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories, versions_of


def kinds(lane):
    return [bar["kind"] for bar in lane["bars"]]


def test_a_topic_has_a_queue_to_write_to_none_or_no_route():
    story = Story()
    registered = story.registers()
    wiped = story.wiped()
    gone = story.deleted()
    story.alive()
    (lane,) = topic_lanes([versions_of(story)], "T")
    assert lane["label"] == "ns_9876"
    assert kinds(lane) == ["unregistered", "up", "notice", "unregistered"]
    assert [bar["since"] for bar in lane["bars"]][1:] == [registered, wiped, gone]
    assert [bar["until"] for bar in lane["bars"]] == [registered, wiped, gone, story.now]


def test_a_topic_whose_master_went_has_no_queue_to_write_to():
    story = Story()
    story.registers("b0", "a0:1", ("T",))
    story.registers("b0", "a1:1", ("T",), broker_id=1)
    story.connection_breaks("a0:1")
    (lane,) = topic_lanes([versions_of(story)], "T")
    assert kinds(lane)[-1] == "notice"


def test_a_stop_and_a_loss_are_in_the_lane():
    story = Story()
    story.registers()
    story.restarts()
    story.registers()
    (lane,) = topic_lanes([versions_of(story)], "T")
    assert kinds(lane) == ["unregistered", "up", "server", "unregistered", "up"]
    story.crashes(keep=1)
    (lane,) = topic_lanes([versions_of(story)], "T")
    assert "unknown" in kinds(lane)


def test_each_address_of_a_broker_has_a_lane_at_each_name_server():
    lanes = broker_lanes([versions_of(story) for story in two_stories()], "b1")
    assert [lane["label"] for lane in lanes] == ["a1:1 at a_1", "a1:1 at b_1"]
    assert kinds(lanes[0]) == ["unregistered", "up", "unregistered", "up"]
    assert broker_lanes([versions_of(two_stories()[0])], "nobody") == []
