"""A topic that had no route: who had it last. The verdicts themselves are in test_explain.py."""

import pytest

from namekeeper.answers.explain import explain
from namekeeper.answers.verdict import Verdict
from namekeeper.answers.without_route import absent_brokers
from tests.unit.answers.story import Story


def test_the_last_change_before_a_kill_is_known_after_the_next_start():
    story = Story()
    story.later()
    story.registers()
    began = story.crashes()
    (found,) = explain([story.evidence()], began)
    assert found.verdict is Verdict.JUST_STARTED
    assert "b0, which had it until here, was not back" in [fact.text for fact in found.facts]


def test_the_last_change_before_a_kill_is_what_was_there_before_the_loss():
    story = Story()
    story.registers()
    wiped = story.wiped()
    story.crashes()
    (found,) = explain([story.evidence()], wiped)
    assert found.verdict is Verdict.UNKNOWN
    before = [fact.text for fact in found.facts if fact.text.startswith("before")]
    assert before == ["before, b0: 4 read and 4 write queues, R--"]


def test_a_broker_that_ended_and_one_that_was_not_back_are_both_told():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    story.restarts()
    story.registers("b0", "a0:1")
    story.deleted()
    (found,) = explain([story.evidence()], story.now)
    assert found.verdict is Verdict.DELETED
    assert [fact.text for fact in found.facts] == [
        "deleted on b0 by peer:99",
        "b1, which had it until here, was not back",
    ]


def test_what_a_loss_ended_at_the_same_time_was_there_last():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    story.unregisters("a1:1")
    story.journal.dropping = True
    story.later()
    story.unregisters("a0:1")
    story.journal.begin_checkpoint("recovery")
    story.journal.go_on_with_checkpoint(1_000)
    (found,) = explain([story.evidence()], story.now)
    assert (found.verdict, found.summary) == (Verdict.UNKNOWN, "it ended while records were lost")


def test_absent_brokers_are_those_that_had_it_and_not_those_that_have_it():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    assert absent_brokers(story.evidence(), story.now, story.journal.boots[-1]) == []
    story.unregisters("a1:1")
    ((text, (fact,)),) = absent_brokers(story.evidence(), story.now, story.journal.boots[-1])
    assert text == "b1 was unregistered"
    assert fact.at == story.now


def test_when_a_whole_group_is_gone_the_master_and_every_slave_are_told():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b0", "a0:2", broker_id=1)
    story.registers("b0", "a0:3", broker_id=2)
    gone = [story.connection_breaks("a0:1"), story.unregisters("a0:3"), story.connection_breaks("a0:2")]
    (found,) = explain([story.evidence()], story.now)
    assert found.verdict is Verdict.BROKER_GONE
    assert found.summary.startswith("b0 lost its connection; its master lost its connection 2 s before")
    facts = [fact for fact in found.facts if fact.at in gone]
    assert [(fact.at, fact.text.partition(")")[0]) for fact in facts] == [
        (gone[2], "b0 (a0:2"), (gone[1], "b0 (a0:3"), (gone[0], "its master (a0:1"),
    ]  # fmt: skip


def test_members_that_go_together_are_told_together():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b0", "a0:2", broker_id=1)
    story.expires()
    (found,) = explain([story.evidence()], story.now)
    texts = [fact.text for fact in found.facts]
    assert [sum(addr in text for text in texts) for addr in ("a0:1", "a0:2")] == [1, 1]


def test_a_slave_that_went_long_before_its_master_has_no_part_in_it():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b0", "a0:2", broker_id=1)
    story.unregisters("a0:2")
    for _ in range(61):
        story.later(59_000)
        story.heard("a0:1")
    story.connection_breaks("a0:1")
    (found,) = explain([story.evidence()], story.now)
    assert found.summary.startswith("b0 lost its connection")
    assert "a0:2" not in "".join(fact.text for fact in found.facts)


@pytest.mark.parametrize(("minutes", "has_part"), [(23 * 60, True), (25 * 60, False)])
def test_a_master_that_went_in_the_day_before_has_part(minutes, has_part):
    """Further back a journal is not always read, and the answer is the same whatever is read."""
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b0", "a0:2", broker_id=1)
    story.connection_breaks("a0:1")
    for _ in range(minutes):
        story.later(60_000)
        story.heard("a0:2")
    story.connection_breaks("a0:2")
    (found,) = explain([story.evidence()], story.now)
    assert ("its master" in found.summary) is has_part


def test_of_a_group_that_is_gone_beside_one_that_is_not_writable_the_master_has_part():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b0", "a0:2", broker_id=1)
    story.registers("b1", "a1:1", perm=4)
    story.connection_breaks("a0:1")
    story.connection_breaks("a0:2")
    (found,) = explain([story.evidence()], story.now)
    assert "its master lost its connection" in found.summary
    assert any(fact.text.startswith("its master (a0:1) lost its connection") for fact in found.facts)


def test_a_name_server_with_another_label_does_not_count_whatever_addresses_its_brokers_have():
    one, other, stranger = Story("one", "east"), Story("other", "east"), Story("stranger", "west")
    for story in (one, other, stranger):
        story.registers("b0", "a0:1", ("T",))
    stranger.registers("b0", "a0:1", ("T", "U"))
    found = explain([story.evidence("U") for story in (one, other, stranger)])
    assert [each.verdict for each in found[:2]] == [Verdict.NEVER_REGISTERED] * 2
    assert found[0].summary == explain([one.evidence("U")])[0].summary


def test_a_name_server_of_another_cluster_does_not_count_as_one_that_has_the_topic():
    one, other, stranger = Story("one"), Story("other"), Story("stranger")
    for story, addr in ((one, "a0:1"), (other, "a0:1"), (stranger, "x0:1")):
        story.registers("b0", addr, ("T",))
    stranger.registers("b0", "x0:1", ("T", "U"))
    found = explain([story.evidence("U") for story in (one, other, stranger)])
    assert [each.verdict for each in found[:2]] == [Verdict.NEVER_REGISTERED] * 2
    other.registers("b0", "a0:1", ("T", "U"))
    at = one.alive()
    found = explain([story.evidence("U") for story in (one, other, stranger)], at)
    assert found[0].summary == "registered on other, but never on this name server"
