"""Search over everything that there ever was."""

from namekeeper.answers.search import NAMES_LIMIT, found_names
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories


def names(found):
    return {each.kind: each.names for each in found.kinds}


def test_names_of_every_kind_in_any_case():
    histories = [story.history() for story in two_stories()]
    assert names(found_names(histories, "B")) == {
        "topic": [], "broker": ["b0", "b1"], "address": [], "cluster": [], "zone": [], "peer": [], "namesrv": ["b_1"],
    }  # fmt: skip
    assert names(found_names(histories, "payments"))["topic"] == ["payments"]
    assert names(found_names(histories, "a1:"))["address"] == ["a1:1"]
    assert names(found_names(histories, "C"))["cluster"] == ["c"]
    assert names(found_names(histories, "pee"))["peer"] == ["peer"]


def test_a_zone_is_found_also_when_its_brokers_went():
    story = Story()
    story.registers(zone="zone-1")
    story.unregisters()
    assert names(found_names([story.history()], "ONE-1"))["zone"] == ["zone-1"]


def test_what_begins_with_the_text_comes_first_and_the_rest_is_counted():
    story = Story()
    story.registers(topics=(*(f"x-{n:02}" for n in range(30)), "a-x"))
    (topics, *_) = found_names([story.history()], "x").kinds
    assert topics.total == 31
    assert len(topics.names) == NAMES_LIMIT
    assert topics.names[0] == "x-00"
