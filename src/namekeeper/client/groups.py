"""Producer and consumer groups: their topics, and the queues that they may use."""

from collections.abc import Awaitable
from typing import Protocol

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import TopicPublishInfo
from namekeeper.errors import NoRouteError
from namekeeper.topic_name import check_topic

__all__ = [
    "DEFAULT_TOPIC_QUEUE_NUMS",
    "RETRY_GROUP_TOPIC_PREFIX",
    "Consumer",
    "Producer",
    "UpdateRoute",
    "publish_queues_of",
]


DEFAULT_TOPIC_QUEUE_NUMS = 4


class UpdateRoute(Protocol):
    """`MQClientInstance.update_topic_route_info_from_name_server`."""

    def __call__(
        self, topic: str, *, is_default: bool = False, producer: "Producer | None" = None
    ) -> Awaitable[bool]:
        """Ask a name server for the route; say whether anything changed."""
        ...


class Producer:
    """The state of one producer group; made by `MQClientInstance.register_producer`."""

    def __init__(
        self,
        producer_group: str,
        update_route: UpdateRoute,
        *,
        default_topic_queue_nums: int = DEFAULT_TOPIC_QUEUE_NUMS,
    ) -> None:
        """Take the settings.

        Args:
            producer_group: its name.
            update_route: asks for the route of a topic that it doesn't know.
            default_topic_queue_nums: most queues of a topic that doesn't exist yet.
        """
        self.producer_group = producer_group
        self.default_topic_queue_nums = default_topic_queue_nums
        self.topic_publish_info_table: dict[str, TopicPublishInfo] = {}
        """Topics that it sends to, and all other topics with a route in this process; all are kept fresh."""
        self._update_route = update_route

    def is_publish_topic_need_update(self, topic: str) -> bool:
        """Whether there is no queue to send to."""
        info = self.topic_publish_info_table.get(topic)
        return info is None or not info.ok

    def update_topic_publish_info(self, topic: str, info: TopicPublishInfo) -> None:
        """Take the queues of a new route."""
        self.topic_publish_info_table[topic] = info

    async def try_to_find_topic_publish_info(self, topic: str) -> TopicPublishInfo:
        """Return the queues of a topic; ask a name server only if there is no queue to send to.

        A topic that doesn't exist gets the queues of TBW102, if brokers create topics; from then on it is
        kept fresh like the others. The result may have no queues: see `publish_message_queues`.

        Raises:
            TopicNameError: no topic can have this name.
            NoNameServerError: nothing is known, and no name server answered in time.
        """
        info = self.topic_publish_info_table.get(topic)
        if info is not None and info.ok:
            return info
        check_topic(topic)
        self.topic_publish_info_table.setdefault(topic, TopicPublishInfo())
        await self._update_route(topic)
        info = self.topic_publish_info_table.get(topic, TopicPublishInfo())
        if not (info.has_topic_router_info or info.ok):
            await self._update_route(topic, is_default=True, producer=self)
            info = self.topic_publish_info_table.get(topic, TopicPublishInfo())
        return info

    async def publish_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Return the queues of a topic, in the order in which they take turns.

        Raises:
            NoRouteError: there is none; says why.
        """
        return publish_queues_of(topic, await self.try_to_find_topic_publish_info(topic))


def publish_queues_of(topic: str, info: TopicPublishInfo) -> tuple[MessageQueue, ...]:
    """Return the queues to send to; NoRouteError if there is none."""
    if info.ok:
        return info.message_queues
    if info.has_topic_router_info:
        raise NoRouteError(
            topic,
            "it exists, but no queue may be written to: it has no live master, or no write permission; "
            "see `mqadmin topicRoute`",
        )
    raise NoRouteError(
        topic, "no name server knows it, and no broker creates topics; create it, or start its brokers"
    )


RETRY_GROUP_TOPIC_PREFIX = "%RETRY%"


class Consumer:
    """The state of one consumer group; made by `MQClientInstance.register_consumer`."""

    def __init__(self, consumer_group: str, update_route: UpdateRoute, *, has_retry_topic: bool) -> None:
        """Take the settings.

        Args:
            consumer_group: its name.
            update_route: asks for the route of a topic that it doesn't know.
            has_retry_topic: true for push consumers that share queues (clustering): they consume from
                `%RETRY%<group>` too.
        """
        self.consumer_group = consumer_group
        self.subscription: dict[str, None] = {}
        """Its topics, in the order of their subscription."""
        self.topic_subscribe_info_table: dict[str, frozenset[MessageQueue]] = {}
        """The queues of those topics that have a route; all are kept fresh."""
        self._update_route = update_route
        if has_retry_topic:
            self.subscription[RETRY_GROUP_TOPIC_PREFIX + consumer_group] = None

    def is_subscribe_topic_need_update(self, topic: str) -> bool:
        """Whether it subscribes to a topic of which it knows nothing."""
        return topic in self.subscription and topic not in self.topic_subscribe_info_table

    def update_topic_subscribe_info(self, topic: str, queues: frozenset[MessageQueue]) -> None:
        """Take the queues of a new route, if it subscribes to the topic."""
        if topic in self.subscription:
            self.topic_subscribe_info_table[topic] = queues

    async def subscribe(self, topic: str) -> frozenset[MessageQueue]:
        """Add a topic; return its queues, none if no name server knows it yet.

        Raises:
            TopicNameError: no topic can have this name; it is not added.
            NoNameServerError: no name server answered in time; the topic is added all the same, and its
                queues appear when one does.
        """
        check_topic(topic)
        self.subscription[topic] = None
        if topic not in self.topic_subscribe_info_table:
            await self._update_route(topic)
        return self.topic_subscribe_info_table.get(topic, frozenset())

    def unsubscribe(self, topic: str) -> None:
        """Remove a topic; one that it doesn't subscribe to is ignored."""
        self.subscription.pop(topic, None)
        self.topic_subscribe_info_table.pop(topic, None)
