"""Producer and consumer groups: their topics, and the queues that they may use."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import TopicPublishInfo
from namekeeper.client.subscription import SUB_ALL, TAG, SubscriptionData, subscription_data
from namekeeper.common.spelled_names import SpelledNames
from namekeeper.errors import NoRouteError
from namekeeper.model.topic import DEFAULT_TOPIC
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
        """Ask a name server for the route; return whether anything changed."""
        ...


class Producer(SpelledNames):
    """The state of one producer group; made by `MQClientInstance.register_producer`."""

    def __init__(
        self,
        producer_group: str,
        update_route: UpdateRoute,
        *,
        default_topic_queue_nums: int = DEFAULT_TOPIC_QUEUE_NUMS,
        create_topic_key: str = DEFAULT_TOPIC,
    ) -> None:
        """Take the settings.

        Args:
            producer_group: its name.
            update_route: asks for the route of a topic that it doesn't know.
            default_topic_queue_nums: most queues of a topic that doesn't exist yet.
            create_topic_key: the topic whose route a topic gets that doesn't exist yet.
        """
        self.producer_group = producer_group
        self.create_topic_key = create_topic_key
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

        A topic that doesn't exist gets the queues of `create_topic_key`, if brokers create topics; from then
        on it is kept fresh like the others. The result may have no queues: see `publish_message_queues`.

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
            NoRouteError: there is none; the message says why.
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


class Consumer(SpelledNames):
    """The state of one consumer group; made by `MQClientInstance.register_consumer`."""

    def __init__(
        self,
        consumer_group: str,
        update_route: UpdateRoute,
        *,
        has_retry_topic: bool,
        now_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        """Take the settings.

        Args:
            consumer_group: its name.
            update_route: asks for the route of a topic that it doesn't know.
            has_retry_topic: true for push consumers that share queues (clustering): they consume from
                `%RETRY%<group>` too.
            now_ms: the time in ms, which becomes the version of a subscription.
        """
        self.consumer_group = consumer_group
        self._now_ms = now_ms
        self.subscription: dict[str, SubscriptionData] = {}
        """Topic -> the messages that the group wants, in the order of subscription."""
        self.topic_subscribe_info_table: dict[str, frozenset[MessageQueue]] = {}
        """The queues of those topics that have a route; all are kept fresh."""
        self._update_route = update_route
        if has_retry_topic:
            topic = RETRY_GROUP_TOPIC_PREFIX + consumer_group
            self.subscription[topic] = subscription_data(topic, sub_version=now_ms())

    def is_subscribe_topic_need_update(self, topic: str) -> bool:
        """Whether it subscribes to a topic of which it knows nothing."""
        return topic in self.subscription and topic not in self.topic_subscribe_info_table

    def update_topic_subscribe_info(self, topic: str, queues: frozenset[MessageQueue]) -> None:
        """Take the queues of a new route, if it subscribes to the topic."""
        if topic in self.subscription:
            self.topic_subscribe_info_table[topic] = queues

    async def subscribe(
        self, topic: str, expression: str | None = SUB_ALL, *, expression_type: str = TAG
    ) -> frozenset[MessageQueue]:
        """Add a topic, or replace its expression; return its queues, none if no name server knows it yet.

        Args:
            topic: its name.
            expression: which messages: `*`, tags as `a || b`, or SQL.
            expression_type: `TAG` or `SQL92`.

        Raises:
            ConfigError: the expression can't be used; nothing has changed.
            TopicNameError: no topic can have this name; it is not added.
            NoNameServerError: no name server answered in time; the topic is added all the same, and its
                queues appear when one does.
        """
        check_topic(topic)
        self.subscription[topic] = subscription_data(
            topic, expression, expression_type=expression_type, sub_version=self._now_ms()
        )
        if topic not in self.topic_subscribe_info_table:
            await self._update_route(topic)
        return self.topic_subscribe_info_table.get(topic, frozenset())

    def subscribe_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Return the last known queues of a subscribed topic, sorted; empty if none are known yet."""
        return tuple(sorted(self.topic_subscribe_info_table.get(topic, ())))

    def unsubscribe(self, topic: str) -> None:
        """Remove a topic; one that it doesn't subscribe to is ignored."""
        self.subscription.pop(topic, None)
        self.topic_subscribe_info_table.pop(topic, None)
