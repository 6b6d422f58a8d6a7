"""A consumer group, as far as routes go: its topics, and the queues that it may consume from."""

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.producer import UpdateRoute
from namekeeper.topic_name import check_topic

__all__ = ["RETRY_GROUP_TOPIC_PREFIX", "Consumer"]

RETRY_GROUP_TOPIC_PREFIX = "%RETRY%"


class Consumer:
    """What a client keeps for one consumer group; made by `MQClientInstance.register_consumer`."""

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
        """Its topics, in the order in which they came."""
        self.topic_subscribe_info_table: dict[str, frozenset[MessageQueue]] = {}
        """The queues of those topics that have a route; all are kept fresh."""
        self._update_route = update_route
        if has_retry_topic:
            self.subscription[RETRY_GROUP_TOPIC_PREFIX + consumer_group] = None

    def is_subscribe_topic_need_update(self, topic: str) -> bool:
        """Whether it subscribes to a topic of which it knows nothing."""
        return topic in self.subscription and topic not in self.topic_subscribe_info_table

    def update_topic_subscribe_info(self, topic: str, queues: frozenset[MessageQueue]) -> None:
        """Take what follows from a route, if it subscribes to the topic."""
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
