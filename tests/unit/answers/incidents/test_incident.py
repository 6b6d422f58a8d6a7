"""Which failures are incidents, by the history of one name server."""

import pytest

from namekeeper.answers.incidents.incident import incidents
from namekeeper.answers.incidents.texts import what
from tests.unit.answers.story import Story


@pytest.mark.parametrize(
    ("topic", "kinds"), [("rmq_sys_SYNC_BROKER_MEMBER_b0", []), ("T", ["topic_unwritable"])]
)
def test_nobody_writes_to_the_topic_by_which_members_of_a_name_know_each_other(topic: str, kinds: list[str]):
    """Each master of 5.x has one, with the permission 1."""
    story = Story()
    story.registers(topics=(topic,), perm=1)
    story.later()
    story.alive()
    assert [each.kind for each in incidents([story.history()])] == kinds


def test_a_broker_of_another_label_does_not_hide_one_that_is_away():
    stories = [Story("east", "east"), Story("west", "west")]
    for story in stories:
        story.registers("b0", "a0:1", ("T",))
    gone = stories[0].connection_breaks("a0:1")
    for story in stories:
        story.later()
        story.alive()
    found = incidents([story.history() for story in stories])
    assert [(each.kind, each.from_ts, each.is_open) for each in found] == [("broker_away", gone, True)]


@pytest.mark.parametrize(
    ("gone", "ids", "text"),
    [
        (["a0:1"], [[0]], "b0 away"),
        (["a1:1"], [[1]], "b0 (id 1) away"),
        (["a0:1", "a1:1"], [[0, 1]], "b0 away (2 brokers)"),
    ],
)
def test_a_slave_that_went_is_named_with_its_id(gone: list[str], ids: list[list[int]], text: str):
    story = Story()
    story.registers("b0", "a0:1", ("T",))
    story.registers("b0", "a1:1", ("T",), broker_id=1)
    for addr in gone:
        story.connection_breaks(addr)
    story.later()
    story.alive()
    found = [each for each in incidents([story.history()]) if each.kind == "broker_away"]
    assert [(each.broker_ids, what(each)) for each in found] == [(ids, text)]
