"""Slow and failed brokers are left alone for a while, as in 4.x."""

import pytest

from namekeeper.client.queues.fault_tolerance_4 import LatencyFaultTolerance4, MQFaultStrategy4
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import TopicPublishInfo, topic_publish_info
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from tests.unit.client.queues.test_selection import index

T0 = 1_000_000


def info(*brokers: str, write: int = 2) -> TopicPublishInfo:
    return topic_publish_info(
        "t",
        TopicRouteData(
            broker_datas=[BrokerData("c", name, {0: "10.0.0.1:10911"}) for name in brokers],
            queue_datas=[QueueData(name, 6, 4, 0, write) for name in brokers],
        ),
    )


def strategy(*slow: tuple[str, int], worst: int = -1) -> MQFaultStrategy4:
    made = MQFaultStrategy4(index(worst), send_latency_fault_enable=True)
    for name, latency in slow:
        made.update_fault_item(name, latency, isolation=False, now_ms=T0)
    return made


def test_a_later_send_replaces_an_earlier_one():
    tolerance = LatencyFaultTolerance4()
    tolerance.update_fault_item("a", 20_000, 600_000, reachable=True, now_ms=T0)
    tolerance.update_fault_item("a", 1, 0, reachable=True, now_ms=T0 + 1)
    assert tolerance.is_available("a", now_ms=T0 + 1)


def test_the_better_half_of_the_brokers_takes_turns():
    tolerance, worst = LatencyFaultTolerance4(), index(-1)
    assert tolerance.pick_least_bad(worst, now_ms=T0) is None
    tolerance.update_fault_item("slow", 900, 30_000, reachable=True, now_ms=T0)
    assert tolerance.pick_least_bad(worst, now_ms=T0) == "slow"
    tolerance.update_fault_item("quick but away", 1, 30_000, reachable=True, now_ms=T0)
    tolerance.update_fault_item("here", 2_000, 0, reachable=True, now_ms=T0)
    tolerance.update_fault_item("slower", 901, 30_000, reachable=True, now_ms=T0)
    assert [tolerance.pick_least_bad(worst, now_ms=T0) for _ in range(4)] == ["here", "quick but away"] * 2


def test_the_next_available_queue_is_taken_even_of_the_last_broker():
    selected = strategy(("a", 600)).select_one_message_queue(info("a", "b"), index(-1), "b", now_ms=T0)
    assert selected == MessageQueue("t", "b", 0)


def test_one_choice_counts_once_however_many_queues_are_passed_over():
    counter = index(-1)
    strategy(("a", 600)).select_one_message_queue(info("a", "b"), counter, now_ms=T0)
    assert counter.increment_and_get() == 1


def test_without_an_available_one_a_less_bad_broker_gets_it():
    made = strategy(("a", 2_000), ("b", 600))
    queues = info("a", "b")
    assert made.select_one_message_queue(queues, index(-1), now_ms=T0) == MessageQueue("t", "b", 0)
    assert queues == info("a", "b")


def test_one_that_does_not_have_the_topic_is_forgotten_and_the_next_is_taken():
    made = strategy(("a", 2_000), ("gone", 600))
    assert made.select_one_message_queue(info("a"), index(-1), now_ms=T0) == MessageQueue("t", "a", 1)
    assert made.tolerance.is_available("gone", now_ms=T0)


def test_switched_off_the_last_broker_is_avoided():
    made = MQFaultStrategy4(index())
    made.update_fault_item("b", 99_999, isolation=True, now_ms=T0)
    assert made.select_one_message_queue(info("a", "b"), index(-1), "a", now_ms=T0) == MessageQueue(
        "t", "b", 0
    )


@pytest.mark.parametrize("made", [strategy(), strategy(("a", 2_000)), MQFaultStrategy4(index())])
def test_without_queues_there_is_none(made):
    assert made.select_one_message_queue(TopicPublishInfo(), index(), "a", now_ms=T0) is None


def test_queues_without_a_route_are_enough():
    bare = TopicPublishInfo(message_queues=(MessageQueue("t", "a", 0),))
    assert strategy(("a", 2_000)).select_one_message_queue(bare, index(), now_ms=T0) == bare.message_queues[0]


def test_a_broker_that_another_thread_forgets_meanwhile_is_no_harm(monkeypatch):
    made = strategy(("a", 2_000))

    def forgotten(name: str, *, now_ms: int) -> bool:
        made.tolerance.remove(name)
        return False

    monkeypatch.setattr(made.tolerance, "is_available", forgotten)
    assert made.select_one_message_queue(info("a"), index(-1), now_ms=T0) == MessageQueue("t", "a", 1)
