"""What restores rows that administrative requests changed."""

import random

import pytest

from namekeeper.answers.undo import UndoPlan, plan_undo
from namekeeper.history.rows import KvKey, Row, TopicKey
from tests.unit.answers.story import Story

ORDER = "ORDER_TOPIC_CONFIG"


@pytest.fixture
def story():
    incident = Story()
    incident.registers()
    return incident


def planned(
    story: Story, since: int, until: int | None = None, brokers: tuple[str, ...] = ("b0",)
) -> UndoPlan:
    history = story.history()
    return plan_undo(history.changes(since), story.now if until is None else until, brokers)


def keys(rows):
    return [each.change.key for each in rows]


def rows_at(story: Story, at: int) -> dict[TopicKey | KvKey, Row]:
    history = story.history()
    return {**dict(history.rows(TopicKey, at)), **dict(history.rows(KvKey, at))}


def test_a_wiped_permission_and_a_deleted_topic_and_kv_entries_are_restored(story):
    story.ordered("T", "b0:4")
    story.ordered("gone", "b0:1")
    since = story.now
    before = rows_at(story, since)
    story.wiped()
    story.deleted("T")
    story.ordered("T", "b0:8")
    story.ordered("gone", None)
    story.ordered("new", "b0:2")
    plan = planned(story, since)
    assert not plan.left
    after = rows_at(story, story.now)
    assert before != after
    for each in plan.restored:
        assert after.get(each.change.key) == each.change.before
        if each.change.after is None:
            del after[each.change.key]
        else:
            after[each.change.key] = each.change.after
    assert before == after


def test_a_topic_that_was_read_only_before_stays_so(story):
    story.registers("b1", "a1:1", topics=("R",), perm=4)
    since = story.now
    story.wiped("b1")
    assert TopicKey("R", "b1") not in keys(planned(story, since, brokers=("b0", "b1")).restored)


def test_what_came_after_the_period_is_not_taken_back(story):
    since = story.now
    until = story.ordered("T", "b0:4")
    story.ordered("later", "b0:1")
    assert keys(planned(story, since, until).restored) == [KvKey(ORDER, "T")]


def test_a_row_that_its_broker_changed_since_is_left(story):
    since = story.now
    story.wiped()
    story.registers(perm=2)
    plan = planned(story, since)
    assert TopicKey("T", "b0") not in keys(plan.restored)
    assert ("T", "it changed again: registration from peer:1") in {
        (each.change.key.topic, each.why) for each in plan.left
    }


def test_what_was_taken_back_by_hand_needs_nothing(story):
    since = story.now
    story.ordered("T", "b0:4")
    story.ordered("T", None)
    assert planned(story, since) == UndoPlan([], [])


def test_of_a_broker_that_is_gone_no_row_is_restored(story):
    since = story.now
    story.deleted("T")
    plan = planned(story, since, brokers=())
    assert plan.restored == []
    assert [each.why for each in plan.left] == [
        "its broker is not registered, and brings the row when it registers"
    ]


def test_brokers_that_come_and_go_are_no_mistake(story):
    since = story.now
    story.registers("b1", "a1:1", topics=("U",))
    story.unregisters("a1:1")
    story.restarts()
    story.registers()
    assert planned(story, since) == UndoPlan([], [])


@pytest.mark.parametrize("seed", range(10))
def test_after_any_requests_the_plan_gives_the_rows_of_before(seed):
    chance = random.Random(seed)
    story = Story()
    story.registers(topics=("T", "U", "V"))
    requests = [
        story.wiped,
        lambda: story.deleted(chance.choice("TUV")),
        lambda: story.ordered(chance.choice("TUV"), chance.choice(["b0:1", "b0:2", None])),
    ]
    for _ in range(5):
        chance.choice(requests)()
    since = story.now
    before = rows_at(story, since)
    for _ in range(8):
        chance.choice(requests)()
    restored = rows_at(story, story.now)
    for each in planned(story, since).restored:
        restored.pop(each.change.key, None)
        if each.change.after is not None:
            restored[each.change.key] = each.change.after
    assert restored == before
