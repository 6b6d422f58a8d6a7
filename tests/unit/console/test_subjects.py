"""A topic and a broker over time."""

import pytest

from namekeeper.console import subjects
from namekeeper.console.subjects import broker_lanes, topic_lanes
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories


def kinds(lane):
    return [bar["kind"] for bar in lane["bars"]]


def test_a_topic_has_a_queue_to_write_to_none_or_no_route():
    story = Story()
    registered = story.registers()
    wiped = story.wiped()
    gone = story.deleted()
    story.alive()
    (lane,) = topic_lanes([story.history()], "T")
    assert lane["label"] == "ns_9876"
    assert kinds(lane) == ["unregistered", "up", "notice", "unregistered"]
    assert [bar["since"] for bar in lane["bars"]][1:] == [registered, wiped, gone]
    assert [bar["until"] for bar in lane["bars"]] == [registered, wiped, gone, story.now]


def test_a_topic_whose_master_went_has_no_queue_to_write_to():
    story = Story()
    story.registers("b0", "a0:1", ("T",))
    story.registers("b0", "a1:1", ("T",), broker_id=1)
    story.connection_breaks("a0:1")
    (lane,) = topic_lanes([story.history()], "T")
    assert kinds(lane)[-1] == "notice"


def test_a_stop_and_a_loss_are_in_the_lane():
    story = Story()
    story.registers()
    story.restarts()
    story.registers()
    (lane,) = topic_lanes([story.history()], "T")
    assert kinds(lane) == ["unregistered", "up", "server", "unregistered", "up"]
    story.crashes(keep=1)
    (lane,) = topic_lanes([story.history()], "T")
    assert "unknown" in kinds(lane)


def test_each_change_is_looked_at_once_however_many_broker_names_have_the_topic(monkeypatch):
    """3,000 names and 1,000 changes held the console for more than half a minute."""
    looked = []
    look = subjects.is_writable
    monkeypatch.setattr(
        subjects, "is_writable", lambda *given, **more: (looked.append(1), look(*given, **more))[1]
    )
    story = Story()
    names = [f"b{number}" for number in range(20)]
    for name in names:
        story.registers(name, f"{name}:1")
    wiped = [story.wiped(name) for name in names]
    story.alive()
    (lane,) = topic_lanes([story.history()], "T")
    assert kinds(lane) == ["unregistered", "up", "notice"]
    assert lane["bars"][-1]["since"] == wiped[-1]
    assert len(looked) <= 4 * len(names)


def test_a_flapping_broker_is_looked_at_once_for_each_change(monkeypatch):
    story = Story()
    for _ in range(30):
        story.registers("b0", "a0:1")
        story.connection_breaks("a0:1")
    story.alive()
    history = story.history()
    monkeypatch.setattr(history, "version_at", lambda *_: pytest.fail("a search for each change"))
    (lane,) = broker_lanes([history], "b0")
    assert kinds(lane) == ["unregistered", *["up", "unregistered"] * 30]


def test_each_address_of_a_broker_has_a_lane_at_each_name_server():
    lanes = broker_lanes([story.history() for story in two_stories()], "b1")
    assert [lane["label"] for lane in lanes] == ["a1:1 at a_1", "a1:1 at b_1"]
    assert kinds(lanes[0]) == ["unregistered", "up", "unregistered", "up"]
    assert broker_lanes([two_stories()[0].history()], "nobody") == []
