"""A producer group, as far as routes go: its topics, and the queues that it may send to."""

from collections.abc import Awaitable
from typing import Protocol

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.publish_info import TopicPublishInfo
from namekeeper.errors import NoRouteError
from namekeeper.topic_name import check_topic

__all__ = ["DEFAULT_TOPIC_QUEUE_NUMS", "Producer", "UpdateRoute", "publish_queues_of"]

DEFAULT_TOPIC_QUEUE_NUMS = 4


class UpdateRoute(Protocol):
    """`MQClientInstance.update_topic_route_info_from_name_server`."""

    def __call__(
        self, topic: str, *, is_default: bool = False, producer: "Producer | None" = None
    ) -> Awaitable[bool]:
        """Ask a name server for the route; say whether anything changed."""
        ...


class Producer:
    """What a client keeps for one producer group; made by `MQClientInstance.register_producer`."""

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
            default_topic_queue_nums: how many queues a topic gets that doesn't exist yet, at most.
        """
        self.producer_group = producer_group
        self.default_topic_queue_nums = default_topic_queue_nums
        self.topic_publish_info_table: dict[str, TopicPublishInfo] = {}
        """The topics that it sends to, and those that this process knows the route of; all are kept fresh."""
        self._update_route = update_route

    def is_publish_topic_need_update(self, topic: str) -> bool:
        """Whether there is no queue to send to."""
        info = self.topic_publish_info_table.get(topic)
        return info is None or not info.ok

    def update_topic_publish_info(self, topic: str, info: TopicPublishInfo) -> None:
        """Take what follows from a route."""
        self.topic_publish_info_table[topic] = info

    async def try_to_find_topic_publish_info(self, topic: str) -> TopicPublishInfo:
        """Return what is known of a topic, asking a name server only if there is no queue to send to.

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
