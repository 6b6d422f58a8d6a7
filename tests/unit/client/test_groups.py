import pytest

from namekeeper.client.groups import Consumer, Producer, publish_queues_of
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import TopicPublishInfo
from namekeeper.errors import NoRouteError, TopicNameError

QUEUES = (MessageQueue("T", "b", 0),)
GOOD = TopicPublishInfo(has_topic_router_info=True, message_queues=QUEUES)
NO_QUEUES = TopicPublishInfo(has_topic_router_info=True)


class ProducerRoutes:
    """Takes the place of the client: gives a producer these infos, one for each look-up."""

    def __init__(self, *infos: TopicPublishInfo | None) -> None:
        self.infos = list(infos)
        self.asked: list[bool] = []
        self.producer = Producer("P", self)

    async def __call__(
        self, topic: str, *, is_default: bool = False, producer: Producer | None = None
    ) -> bool:
        assert (producer is self.producer) == is_default
        self.asked.append(is_default)
        info = self.infos.pop(0)
        if info is not None:
            self.producer.update_topic_publish_info(topic, info)
        return info is not None


@pytest.mark.parametrize(
    ("infos", "asked", "found"),
    [
        ([GOOD], [False], GOOD),
        ([NO_QUEUES], [False], NO_QUEUES),
        ([None, GOOD], [False, True], GOOD),
        ([None, None], [False, True], TopicPublishInfo()),
    ],
)
async def test_the_template_is_asked_for_only_when_nothing_is_known(infos, asked, found):
    routes = ProducerRoutes(*infos)
    assert await routes.producer.try_to_find_topic_publish_info("T") == found
    assert routes.asked == asked
    assert "T" in routes.producer.topic_publish_info_table  # is kept fresh from now on


async def test_who_has_queues_asks_nobody_and_who_has_none_asks_each_time():
    routes = ProducerRoutes(NO_QUEUES, GOOD)
    assert routes.producer.is_publish_topic_need_update("T")
    await routes.producer.try_to_find_topic_publish_info("T")
    assert routes.producer.is_publish_topic_need_update("T")
    assert await routes.producer.publish_message_queues("T") == QUEUES
    assert not routes.producer.is_publish_topic_need_update("T")
    assert await routes.producer.publish_message_queues("T") == QUEUES
    assert routes.asked == [False, False]


async def test_a_name_that_no_topic_has_is_not_kept():
    routes = ProducerRoutes()
    with pytest.raises(TopicNameError):
        await routes.producer.publish_message_queues("no name")
    assert routes.producer.topic_publish_info_table == {}


def test_no_queue_to_send_to_says_why():
    assert publish_queues_of("T", GOOD) == QUEUES
    with pytest.raises(NoRouteError, match="No route info of this topic: T: it exists, but"):
        publish_queues_of("T", NO_QUEUES)
    with pytest.raises(NoRouteError, match="no name server knows it"):
        publish_queues_of("T", TopicPublishInfo())


SUBSCRIBED = frozenset({MessageQueue("T", "b", 0)})


class ConsumerRoutes:
    """Takes the place of the client: gives the queues of topic T."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.consumer = Consumer("G", self, has_retry_topic=False)

    async def __call__(self, topic: str, *, is_default: bool = False, producer: object = None) -> bool:
        self.asked.append(topic)
        if topic == "T":
            self.consumer.update_topic_subscribe_info(topic, SUBSCRIBED)
        return topic == "T"


async def test_subscribing_asks_once_and_keeps_what_is_known():
    routes = ConsumerRoutes()
    assert await routes.consumer.subscribe("T") == SUBSCRIBED
    assert await routes.consumer.subscribe("T") == SUBSCRIBED
    assert await routes.consumer.subscribe("U") == frozenset()
    assert routes.asked == ["T", "U"]
    assert list(routes.consumer.subscription) == ["T", "U"]
    assert not routes.consumer.is_subscribe_topic_need_update("T")
    assert routes.consumer.is_subscribe_topic_need_update("U")


async def test_what_it_does_not_subscribe_to_it_does_not_keep():
    consumer = ConsumerRoutes().consumer
    consumer.update_topic_subscribe_info("T", SUBSCRIBED)
    assert consumer.topic_subscribe_info_table == {}
    assert not consumer.is_subscribe_topic_need_update("T")
    await consumer.subscribe("T")
    consumer.unsubscribe("T")
    consumer.unsubscribe("T")
    assert (consumer.subscription, consumer.topic_subscribe_info_table) == ({}, {})


def test_a_group_that_shares_queues_has_a_retry_topic():
    consumer = Consumer("G", ConsumerRoutes(), has_retry_topic=True)
    assert list(consumer.subscription) == ["%RETRY%G"]


async def test_a_name_that_no_topic_has_is_not_added():
    consumer = ConsumerRoutes().consumer
    with pytest.raises(TopicNameError):
        await consumer.subscribe("")
    assert consumer.subscription == {}
