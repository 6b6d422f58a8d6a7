"""Queues as values: their order and their text."""

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.java_text import java_order
from namekeeper.client.message_queue import MessageQueue

names = st.sampled_from(["", "a", "b", "é", "\uffee", "😀"])
queues = st.builds(MessageQueue, names, names, st.integers(0, 3))


def test_text_is_java_s():
    assert (
        str(MessageQueue("TopicTest", "broker-a", 3))
        == "MessageQueue [topic=TopicTest, brokerName=broker-a, queueId=3]"
    )


@given(st.lists(queues))
def test_order_is_topic_broker_name_and_id(some):
    assert sorted(some) == sorted(
        some, key=lambda queue: (java_order(queue.topic), java_order(queue.broker_name), queue.queue_id)
    )


@given(queues, queues)
def test_exactly_one_of_less_equal_and_greater_holds(one, other):
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (one < other or one == other)
    assert (one >= other) == (other <= one)


def test_equal_queues_are_one_key():
    assert len({MessageQueue("t", "b", 0), MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)}) == 2
