import pytest

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.producer import Producer, publish_queues_of
from namekeeper.client.publish_info import TopicPublishInfo
from namekeeper.errors import NoRouteError, TopicNameError

QUEUES = (MessageQueue("T", "b", 0),)
GOOD = TopicPublishInfo(has_topic_router_info=True, message_queues=QUEUES)
NO_QUEUES = TopicPublishInfo(has_topic_router_info=True)


class Routes:
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
    routes = Routes(*infos)
    assert await routes.producer.try_to_find_topic_publish_info("T") == found
    assert routes.asked == asked
    assert "T" in routes.producer.topic_publish_info_table  # is kept fresh from now on


async def test_who_has_queues_asks_nobody_and_who_has_none_asks_each_time():
    routes = Routes(NO_QUEUES, GOOD)
    assert routes.producer.is_publish_topic_need_update("T")
    await routes.producer.try_to_find_topic_publish_info("T")
    assert routes.producer.is_publish_topic_need_update("T")
    assert await routes.producer.publish_message_queues("T") == QUEUES
    assert not routes.producer.is_publish_topic_need_update("T")
    assert await routes.producer.publish_message_queues("T") == QUEUES
    assert routes.asked == [False, False]


async def test_a_name_that_no_topic_has_is_not_kept():
    routes = Routes()
    with pytest.raises(TopicNameError):
        await routes.producer.publish_message_queues("no name")
    assert routes.producer.topic_publish_info_table == {}


def test_no_queue_to_send_to_says_why():
    assert publish_queues_of("T", GOOD) == QUEUES
    with pytest.raises(NoRouteError, match="No route info of this topic: T: it exists, but"):
        publish_queues_of("T", NO_QUEUES)
    with pytest.raises(NoRouteError, match="no name server knows it"):
        publish_queues_of("T", TopicPublishInfo())
