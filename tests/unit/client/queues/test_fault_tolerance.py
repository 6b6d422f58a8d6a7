"""Slow and failed brokers are left alone for a while, as in 5.x."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.queues.fault_tolerance import (
    FAULT_TABLE,
    FAULT_TABLE_4,
    LatencyFaultTolerance,
    MQFaultStrategy,
)
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import TopicPublishInfo
from tests.unit.client.queues.test_selection import index

T0 = 1_000_000


def info(*brokers: str, each: int = 1) -> TopicPublishInfo:
    return TopicPublishInfo(
        message_queues=tuple(MessageQueue("t", name, number) for name in brokers for number in range(each))
    )


def select(strategy: MQFaultStrategy, of: TopicPublishInfo, last: str | None = None, *, at: int = T0) -> str:
    selected = strategy.select_one_message_queue(of, index(-1), last, now_ms=at)
    assert selected is not None
    return selected.broker_name


@pytest.mark.parametrize(
    ("latency", "five", "four"),
    [
        (0, 0, 0), (99, 0, 0), (549, 0, 0), (550, 2_000, 30_000), (999, 2_000, 30_000), (1_000, 2_000, 60_000),
        (1_799, 2_000, 60_000), (1_800, 5_000, 60_000), (2_000, 5_000, 120_000), (3_000, 6_000, 180_000),
        (5_000, 10_000, 180_000), (14_999, 10_000, 180_000), (15_000, 30_000, 600_000), (99_999, 30_000, 600_000),
    ],
)  # fmt: skip
def test_how_long_a_broker_is_left_alone(latency, five, four):
    assert FAULT_TABLE.not_available_duration_of(latency, isolation=False) == five
    assert FAULT_TABLE_4.not_available_duration_of(latency, isolation=False) == four


def test_an_isolated_broker_counts_as_very_slow():
    assert FAULT_TABLE.not_available_duration_of(1, isolation=True) == 10_000
    assert FAULT_TABLE_4.not_available_duration_of(1, isolation=True) == 600_000


def test_unknown_brokers_are_in_order():
    tolerance = LatencyFaultTolerance()
    assert tolerance.is_available("a", now_ms=T0)
    assert tolerance.is_reachable("a")
    assert tolerance.pick_one_at_least(random.Random(1)) is None
    tolerance.mark_reachable("a")
    tolerance.remove("a")
    assert tolerance.unreachable() == []


def test_a_broker_is_available_again_at_its_time():
    tolerance = LatencyFaultTolerance()
    tolerance.update_fault_item("a", 600, 2_000, reachable=True, now_ms=T0)
    assert not tolerance.is_available("a", now_ms=T0 + 1_999)
    assert tolerance.is_available("a", now_ms=T0 + 2_000)


def test_a_time_is_extended_and_never_shortened():
    tolerance = LatencyFaultTolerance()
    tolerance.update_fault_item("a", 20_000, 30_000, reachable=True, now_ms=T0)
    tolerance.update_fault_item("a", 1, 0, reachable=True, now_ms=T0 + 10)
    tolerance.update_fault_item("a", 600, 2_000, reachable=True, now_ms=T0 + 20)
    assert not tolerance.is_available("a", now_ms=T0 + 29_999)
    tolerance.update_fault_item("a", 600, 2_000, reachable=True, now_ms=T0 + 29_999)
    assert not tolerance.is_available("a", now_ms=T0 + 31_998)
    assert tolerance.is_available("a", now_ms=T0 + 31_999)


def test_a_detector_brings_a_broker_back():
    tolerance = LatencyFaultTolerance()
    tolerance.update_fault_item("a", 1, 10_000, reachable=False, now_ms=T0)
    tolerance.update_fault_item("b", 1, 0, reachable=True, now_ms=T0)
    assert (tolerance.is_reachable("a"), tolerance.unreachable()) == (False, ["a"])
    assert {tolerance.pick_one_at_least(random.Random(seed)) for seed in range(20)} == {"b"}
    tolerance.mark_reachable("a")
    assert (tolerance.is_reachable("a"), tolerance.unreachable()) == (True, [])
    assert {tolerance.pick_one_at_least(random.Random(seed)) for seed in range(20)} == {"a", "b"}


def test_what_is_removed_is_forgotten():
    tolerance = LatencyFaultTolerance()
    tolerance.update_fault_item("a", 1, 10_000, reachable=False, now_ms=T0)
    tolerance.remove("a")
    assert tolerance.is_available("a", now_ms=T0)
    assert tolerance.is_reachable("a")


def test_switched_off_it_learns_nothing_and_avoids_the_last_broker():
    strategy = MQFaultStrategy()
    strategy.update_fault_item("a", 99_999, isolation=True, reachable=False, now_ms=T0)
    assert select(strategy, info("a", "b")) == "a"
    assert select(strategy, info("a", "b"), "a") == "b"


def test_switched_on_slow_brokers_are_passed_over():
    strategy = MQFaultStrategy(send_latency_fault_enable=True)
    strategy.update_fault_item("a", 600, isolation=False, now_ms=T0)
    assert select(strategy, info("a", "b")) == "b"
    assert select(strategy, info("a", "b"), at=T0 + 2_000) == "a"
    assert select(strategy, info("a", "b"), "a", at=T0 + 2_000) == "b"


def test_without_an_available_one_a_reachable_one_is_taken():
    strategy = MQFaultStrategy(send_latency_fault_enable=True)
    for name, reachable in (("a", False), ("b", True), ("c", True)):
        strategy.update_fault_item(name, 1, isolation=True, reachable=reachable, now_ms=T0)
    assert select(strategy, info("a", "b", "c")) == "b"
    assert select(strategy, info("a", "b", "c"), "b") == "c"


def test_without_a_reachable_one_the_next_is_taken():
    strategy = MQFaultStrategy(send_latency_fault_enable=True)
    for name in ("a", "b"):
        strategy.update_fault_item(name, 1, isolation=True, reachable=False, now_ms=T0)
    assert select(strategy, info("a", "b"), "a") == "a"


def test_a_retry_may_begin_at_a_random_place():
    strategy = MQFaultStrategy(send_latency_fault_enable=True)
    many = info("a", each=50)
    turns = [
        strategy.select_one_message_queue(many, index(-1, seed), reset_index=True, now_ms=T0)
        for seed in range(5)
    ]
    assert len(set(turns)) > 1


@pytest.mark.parametrize("latency", [False, True])
def test_without_queues_there_is_none(latency):
    strategy = MQFaultStrategy(send_latency_fault_enable=latency)
    assert strategy.select_one_message_queue(TopicPublishInfo(), index(), now_ms=T0) is None


brokers = st.sampled_from("abc")


@given(
    st.lists(st.tuples(brokers, st.integers(0, 20_000), st.booleans(), st.booleans(), st.integers(0, 5_000))),
    st.none() | brokers,
    st.integers(0, 9),
)
def test_a_choice_is_the_best_there_is(sends, last, start):
    strategy, now_ms = MQFaultStrategy(send_latency_fault_enable=True), T0
    for name, latency, isolation, reachable, later in sends:
        strategy.update_fault_item(name, latency, isolation=isolation, reachable=reachable, now_ms=now_ms)
        now_ms += later
    queues = info("a", "b", "c", each=2)
    selected = strategy.select_one_message_queue(queues, index(start), last, now_ms=now_ms)
    assert selected is not None
    others = [name for name in "abc" if name != last]
    available = [name for name in others if strategy.tolerance.is_available(name, now_ms=now_ms)]
    reachable_ones = [name for name in others if strategy.tolerance.is_reachable(name)]
    assert selected.broker_name in (available or reachable_ones or "abc")
