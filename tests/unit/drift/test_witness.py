"""What one name server can tell: when its rows are known, and of which brokers it would know."""

import pytest

from namekeeper.drift.witness import MEMORY_MS, WITNESS_AFTER_MS, BrokerId, Witness
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import A, B, align_ends, fleet

BROKER_A, BROKER_B = BrokerId("c", "broker-a", 0, A), BrokerId("c", "broker-b", 0, B)
NEW = BrokerId("c", "broker-c", 0, "10.0.0.3:10911")


def witness(story: Story, at: int | None = None) -> Witness:
    return Witness(story.history(), story.now if at is None else at)


@pytest.fixture
def story() -> Story:
    (found,) = fleet(1)
    return found


def test_its_brokers_are_those_that_are_registered(story):
    story.later(MINUTE)
    story.connection_breaks(A)
    assert witness(story).brokers == [BROKER_B]
    assert list(witness(story, story.now - 1).brokers) == [BROKER_A, BROKER_B]


def test_a_registration_goes_on_through_heartbeats_and_new_topics(story):
    (began,) = [each.begun.at for each in witness(story).registrations[BROKER_A]]
    story.later(MINUTE)
    story.registers("broker-a", A, ("orders", "new"))
    (period,) = witness(story).registrations[BROKER_A]
    assert (period.begun.at, period.ended) == (began, None)
    gone = story.connection_breaks(A)
    again = story.registers("broker-a", A, ("orders",))
    first, second = witness(story).registrations[BROKER_A]
    assert first.ended is not None
    assert (first.begun.at, first.ended.at, second.begun.at) == (began, gone, again)


def test_it_misses_a_broker_that_it_knows_at_once(story):
    gone = story.connection_breaks(A)
    align_ends([story])
    assert witness(story).can_miss(BROKER_A, gone)


def test_it_misses_a_new_broker_only_some_time_after_its_start(story):
    began = witness(story).history.coverage.boots[0].since
    align_ends([story], 10 * MINUTE)
    found = witness(story)
    edge = began + WITNESS_AFTER_MS
    assert [found.can_miss(NEW, at) for at in (edge - 1, edge)] == [False, True]


def test_it_misses_nothing_of_a_cluster_that_it_never_saw(story):
    align_ends([story], 10 * MINUTE)
    assert not witness(story).can_miss(BrokerId("other", "broker-a", 0, A), story.now)


def test_it_remembers_a_cluster_for_some_time(story):
    story.connection_breaks(A)
    gone = story.connection_breaks(B)
    align_ends([story], MEMORY_MS + MINUTE)
    found = witness(story)
    edge = gone + MEMORY_MS
    assert [found.can_miss(NEW, at) for at in (edge - 1, edge)] == [True, False]
    assert list(found.recent_addrs()) == []
    assert list(witness(story, edge - 1).recent_addrs()) == [B]


def test_while_it_is_stopped_it_can_not_tell(story):
    stopped = story.stops()
    found = witness(story)
    assert [found.has_rows(at) for at in (stopped - 1, stopped)] == [True, False]
    assert not found.has_rows_now


def test_while_records_are_lost_it_can_not_tell(story):
    lost = story.alive()
    story.later(MINUTE)
    back = story.crashes()
    story.later(MINUTE)
    story.alive()
    found = witness(story)
    assert [found.has_rows(at) for at in (lost - 1, lost + 1, back - 1, back)] == [True, False, False, True]


def test_at_its_end_its_rows_are_known_and_not_after_it(story):
    story.alive()
    found = witness(story)
    assert found.has_rows_now
    assert not Witness(story.history(), story.now + 1).has_rows_now
