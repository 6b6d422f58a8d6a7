"""Brokers that went without unregistering are missing, with their topics; those that stopped in order are not."""

import pytest

from namekeeper.common.slices import run_slices
from namekeeper.route import missing as module
from namekeeper.route.events import Cause, Change
from namekeeper.route.missing import Missing
from namekeeper.route.removal import EndOfRegistration, UnregisterBroker
from namekeeper.route.topic_index import TopicIndex
from namekeeper.route.topics import DeleteTopic
from tests.support.server.builders import CLUSTER, World, at, body, channel, header, unregister
from tests.support.server.looked_up import names_in_each_slice

A, A_SLAVE, B = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"


class Watched:
    """A world whose changes `Missing` follows; each happens a second after the one before."""

    def __init__(self) -> None:
        self.world, self.missing = World(), Missing()
        self.now_ms = 1_000

    def do(self, change) -> None:
        before = len(self.world.events)
        self.world.do(change)
        retired = self.missing.retired(change)
        events = (*self.world.events[before:], *retired)
        self.now_ms += 1_000
        self.missing.take(Change(change.cause, None, events), self.now_ms)

    def registers(self, name="broker-a", addr=A, broker_id=0, topics=("T1", "T2"), over=None, **more) -> None:
        before = len(self.world.events)
        over = over or channel(hash((addr, self.now_ms)) % 1_000 + 1)
        self.world.register(header(name, addr, broker_id, **more), body(topics), over)
        self.now_ms += 1_000
        self.missing.take(Change(Cause.REGISTER, None, tuple(self.world.events[before:])), self.now_ms)

    def dies(self, addr=A, cause=Cause.CHANNEL_CLOSED) -> None:
        live = self.world.tables.broker_live_table.get((CLUSTER, addr))
        if cause is Cause.EXPIRED:
            self.world.now = at(10_000)
        self.do(EndOfRegistration(live.key, live.gen, cause))

    @property
    def brokers(self) -> list[str]:
        return [each.broker_addr for each in self.missing.brokers]

    @property
    def topics(self) -> int:
        run_slices(self.missing.count_topics(self.world.tables))
        return self.missing.topics


@pytest.mark.parametrize("cause", [Cause.CHANNEL_CLOSED, Cause.EXPIRED])
def test_a_broker_that_died_is_missing_with_its_topics_since_then(cause):
    watched = Watched()
    watched.registers()
    assert (watched.brokers, watched.topics, watched.missing.since_ms) == ([], 0, None)
    watched.dies(cause=cause)
    assert (watched.brokers, watched.topics, watched.missing.since_ms) == ([A], 2, watched.now_ms)


def test_a_broker_that_unregistered_is_not_missing_and_its_topics_are_not():
    watched = Watched()
    watched.registers()
    watched.do(unregister(channel(7)))
    assert (watched.brokers, watched.topics) == ([], 0)


def test_a_topic_that_another_broker_has_is_not_missing():
    watched = Watched()
    watched.registers()
    watched.registers("broker-b", B, topics=("T2", "T3"))
    watched.dies()
    assert (watched.brokers, watched.topics) == ([A], 1)


def test_a_topic_of_two_dead_brokers_counts_once():
    watched = Watched()
    watched.registers()
    watched.registers("broker-b", B)
    watched.dies()
    watched.dies(B)
    assert (watched.brokers, watched.topics) == ([A, B], 2)


def test_a_broker_that_returns_is_not_missing():
    watched = Watched()
    watched.registers()
    watched.dies()
    watched.registers()
    assert (watched.brokers, watched.topics) == ([], 0)


def test_a_broker_that_returns_at_another_address_is_not_missing():
    """A pod gets a new address with each start."""
    watched = Watched()
    watched.registers()
    watched.dies()
    watched.registers(addr="10.0.0.9:10911")
    assert (watched.brokers, watched.topics) == ([], 0)


def test_a_slave_that_becomes_master_is_not_the_return_of_the_dead_master():
    watched = Watched()
    watched.registers()
    watched.registers(addr=A_SLAVE, broker_id=1)
    watched.dies()
    watched.registers(addr=A_SLAVE, broker_id=0)
    assert watched.brokers == [A]


def test_a_broker_whose_place_another_took_is_not_missing():
    watched = Watched()
    watched.registers()
    watched.registers(addr="10.0.0.9:10911")
    assert watched.brokers == []


def test_topics_of_a_dead_master_are_missing_even_if_its_slave_stops_in_order():
    watched = Watched()
    watched.registers()
    watched.registers(addr=A_SLAVE, broker_id=1)
    watched.dies()
    assert watched.topics == 0, "the slave still has them"
    watched.do(unregister(channel(7), addr=A_SLAVE))
    assert (watched.brokers, watched.topics) == ([A], 2)


def test_a_slave_that_returns_alone_brings_only_its_own_topics_back():
    watched = Watched()
    watched.registers()
    watched.dies()
    watched.registers(addr=A_SLAVE, broker_id=1, topics=("T1", "T3"))
    assert (watched.brokers, watched.topics) == ([A], 1)


def test_a_dead_broker_that_is_unregistered_is_retired():
    watched = Watched()
    watched.registers()
    watched.dies()
    watched.do(UnregisterBroker(CLUSTER, A, "broker-a", channel(7)))
    assert (watched.brokers, watched.topics) == ([], 0)


def test_a_retirement_is_an_event_for_the_journal():
    watched = Watched()
    watched.registers()
    watched.dies()
    change = UnregisterBroker(CLUSTER, A, "broker-a", channel(7))
    (event,) = watched.missing.retired(change)
    assert (event.broker_addr, event.reason) == (A, Cause.UNREGISTER)
    assert watched.missing.retired(UnregisterBroker(CLUSTER, B, "broker-b", channel(7))) == ()


@pytest.mark.parametrize(("cluster", "left"), [(None, 1), ("", 1), (CLUSTER, 1), ("another", 2)])
def test_a_missing_topic_that_is_deleted_is_not_missing(cluster, left):
    watched = Watched()
    watched.registers()
    watched.dies()
    watched.do(DeleteTopic("T1", cluster, "10.9.9.9:1"))
    assert watched.topics == left
    watched.do(DeleteTopic("T1", cluster, "10.9.9.9:1"))
    assert watched.topics == left


def test_a_topic_that_was_deleted_elsewhere_while_its_broker_was_away_is_not_missing():
    watched = Watched()
    watched.registers()
    watched.registers("broker-b", B, topics=("T1", "T3"))
    watched.dies()
    watched.do(DeleteTopic("T1", None, "10.9.9.9:1"))
    assert watched.topics == 1


def test_what_is_missing_for_too_long_is_forgotten():
    watched = Watched()
    watched.registers()
    watched.dies()
    died = watched.now_ms
    watched.missing.forget(died)
    assert watched.brokers == [A]
    watched.missing.forget(died + 1)
    assert (watched.brokers, watched.topics) == ([], 0)


def test_what_was_missing_is_missing_after_a_restart():
    watched = Watched()
    watched.registers()
    watched.dies()
    watched.do(DeleteTopic("T1", None, "10.9.9.9:1"))
    again = Missing()
    again.restore(watched.missing.rows()())
    run_slices(again.count_topics(World().tables))
    assert (again.brokers, again.topics) == (watched.missing.brokers, 1)


def test_a_broker_that_registers_again_and_again_is_kept_once():
    watched = Watched()
    for _ in range(5):
        watched.registers()
        watched.dies()
    assert watched.brokers == [A]
    assert watched.missing._lost_topics == 2


def test_brokers_beyond_the_limit_are_forgotten_oldest_first(monkeypatch):
    monkeypatch.setattr(module, "MAX_BROKERS", 2)
    watched = Watched()
    for number in range(3):
        watched.registers(f"broker-{number}", f"10.0.1.{number}:1", topics=(f"T{number}", f"U{number}"))
        watched.dies(f"10.0.1.{number}:1")
    assert (watched.brokers, watched.topics) == (["10.0.1.1:1", "10.0.1.2:1"], 4)


def test_topics_beyond_the_limit_are_forgotten_oldest_first(monkeypatch):
    monkeypatch.setattr(module, "MAX_TOPICS", 4)
    watched = Watched()
    for number in range(3):
        watched.registers(f"broker-{number}", f"10.0.1.{number}:1", topics=(f"T{number}", f"U{number}"))
        watched.dies(f"10.0.1.{number}:1")
    assert (len(watched.brokers), watched.topics) == (3, 4)


def test_many_missing_topics_are_counted_in_slices():
    watched = Watched()
    watched.registers(topics=[f"T{number}" for number in range(2 * module.SLICE_TOPICS)])
    watched.dies()
    assert len(list(watched.missing.count_topics(watched.world.tables))) == 2
    assert watched.missing.topics == 2 * module.SLICE_TOPICS


def test_a_topic_that_many_names_have_lost_is_looked_up_once_in_a_count(monkeypatch):
    watched = Watched()
    topics = [f"T{number}" for number in range(40)]
    for number in range(60):
        watched.registers(f"broker-{number}", f"10.0.1.{number}:1", topics=topics)
    for number in range(50):
        watched.dies(f"10.0.1.{number}:1")
    work = names_in_each_slice(monkeypatch, lambda: watched.missing.count_topics(watched.world.tables))
    assert watched.missing.topics == 0
    assert sum(work) <= len(topics) * 10  # of those that are left


def test_a_slice_of_the_count_of_missing_topics_looks_at_a_limited_number_of_names(monkeypatch):
    monkeypatch.setattr(module, "SLICE_TOPICS", 100)
    watched = Watched()
    topics = [f"T{number}" for number in range(40)]
    for number in range(60):
        watched.registers(f"broker-{number}", f"10.0.1.{number}:1", topics=topics)
    watched.dies("10.0.1.0:1")
    monkeypatch.setattr(TopicIndex, "some_name", lambda *_: "broker-0")  # one that has just lost them
    work = names_in_each_slice(monkeypatch, lambda: watched.missing.count_topics(watched.world.tables))
    assert len(topics) * 59 == sum(work)
    assert max(work) <= 100 + 59
