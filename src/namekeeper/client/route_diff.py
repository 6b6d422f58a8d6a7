"""From two routes of a topic to the events that tell of the difference."""

from collections.abc import Iterator

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.publish_info import topic_publish_info, topic_subscribe_info
from namekeeper.client.route_change import is_route_changed
from namekeeper.client.route_events import (
    PublishQueuesChanged,
    RouteAppeared,
    RouteChanged,
    SubscribeQueuesChanged,
    TopicEvent,
)
from namekeeper.model.route import TopicRouteData

__all__ = ["route_events"]


def route_events(
    topic: str,
    old: TopicRouteData | None,
    new: TopicRouteData,
    *,
    was_absent: bool = False,
    is_template: bool = False,
) -> Iterator[TopicEvent]:
    """Tell what a new route means; nothing if it means nothing new.

    Args:
        topic: whose routes they are.
        old: what was in use; None: nothing.
        new: what is from now on; queues must follow from it (RouteDataError).
        was_absent: `RouteVanished` was told of `old`.
        is_template: `new` is that of TBW102.
    """
    if old is None or was_absent:
        yield RouteAppeared(topic, new, is_template=is_template)
    elif old is not new and is_route_changed(old, new):
        yield RouteChanged(topic, old, new)
    if old is new:
        return
    to_publish = () if old is None else topic_publish_info(topic, old).message_queues
    now_to_publish = topic_publish_info(topic, new).message_queues
    if to_publish != now_to_publish:
        yield PublishQueuesChanged(topic, to_publish, now_to_publish)
    to_subscribe: frozenset[MessageQueue] = frozenset() if old is None else topic_subscribe_info(topic, old)
    now_to_subscribe = topic_subscribe_info(topic, new)
    if to_subscribe != now_to_subscribe:
        yield SubscribeQueuesChanged(topic, to_subscribe, now_to_subscribe)
