import pytest

from namekeeper.client.consumer import Consumer
from namekeeper.client.message_queue import MessageQueue
from namekeeper.errors import TopicNameError

QUEUES = frozenset({MessageQueue("T", "b", 0)})


class Routes:
    """Takes the place of the client: gives the queues of topic T."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.consumer = Consumer("G", self, has_retry_topic=False)

    async def __call__(self, topic: str, *, is_default: bool = False, producer: object = None) -> bool:
        self.asked.append(topic)
        if topic == "T":
            self.consumer.update_topic_subscribe_info(topic, QUEUES)
        return topic == "T"


async def test_subscribing_asks_once_and_keeps_what_is_known():
    routes = Routes()
    assert await routes.consumer.subscribe("T") == QUEUES
    assert await routes.consumer.subscribe("T") == QUEUES
    assert await routes.consumer.subscribe("U") == frozenset()
    assert routes.asked == ["T", "U"]
    assert list(routes.consumer.subscription) == ["T", "U"]
    assert not routes.consumer.is_subscribe_topic_need_update("T")
    assert routes.consumer.is_subscribe_topic_need_update("U")


async def test_what_it_does_not_subscribe_to_it_does_not_keep():
    consumer = Routes().consumer
    consumer.update_topic_subscribe_info("T", QUEUES)
    assert consumer.topic_subscribe_info_table == {}
    assert not consumer.is_subscribe_topic_need_update("T")
    await consumer.subscribe("T")
    consumer.unsubscribe("T")
    consumer.unsubscribe("T")
    assert (consumer.subscription, consumer.topic_subscribe_info_table) == ({}, {})


def test_a_group_that_shares_queues_has_a_retry_topic():
    consumer = Consumer("G", Routes(), has_retry_topic=True)
    assert list(consumer.subscription) == ["%RETRY%G"]


async def test_a_name_that_no_topic_has_is_not_added():
    consumer = Routes().consumer
    with pytest.raises(TopicNameError):
        await consumer.subscribe("")
    assert consumer.subscription == {}
