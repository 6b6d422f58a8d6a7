"""Decides when a route counts as changed, makes its events, and merges two events in a row."""

from collections.abc import Iterator
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import topic_publish_info, topic_subscribe_info
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData

__all__ = [
    "PublishQueuesChanged",
    "QueueEvent",
    "RouteAppeared",
    "RouteChanged",
    "RouteEvent",
    "RouteVanished",
    "SubscribeQueuesChanged",
    "TopicEvent",
    "coalesce",
    "is_route_changed",
    "kind_of",
    "route_events",
]


class RouteAppeared(Struct, frozen=True):
    """A topic has a route: for the first time, or again after `RouteVanished`."""

    topic: str
    route: TopicRouteData
    is_template: bool = False
    """Whether the route is that of TBW102: the topic doesn't exist, and the first message creates it."""


class RouteChanged(Struct, frozen=True):
    """A topic has another route."""

    topic: str
    old: TopicRouteData
    new: TopicRouteData


class RouteVanished(Struct, frozen=True):
    """All name servers that answered report that there is no such topic; `last` stays in use, as in Java."""

    topic: str
    old: TopicRouteData | None
    """The route of the event before; None without one, because the route vanished before it was read."""
    last: TopicRouteData
    reported_by: tuple[str, ...]
    """The name servers that report this. A restarted one reports it until brokers have registered again."""
    unreachable: tuple[str, ...] = ()
    """The name servers that gave no answer."""


class PublishQueuesChanged(Struct, frozen=True):
    """A topic has other queues to send to."""

    topic: str
    old: tuple[MessageQueue, ...]
    new: tuple[MessageQueue, ...]


class SubscribeQueuesChanged(Struct, frozen=True):
    """A topic has other queues to consume from."""

    topic: str
    old: frozenset[MessageQueue]
    new: frozenset[MessageQueue]


RouteEvent = RouteAppeared | RouteChanged | RouteVanished
QueueEvent = PublishQueuesChanged | SubscribeQueuesChanged
TopicEvent = RouteEvent | QueueEvent


def is_route_changed(old: TopicRouteData | None, new: TopicRouteData | None) -> bool:
    """Say whether the routes differ, whatever the order of their brokers; a missing route always differs.

    Of a broker only the name and the addresses count: a new cluster, zone or acting-master flag is no
    change. 4.x compares the same, but for the mappings of static topics, which it doesn't know.
    """
    return old is None or new is None or _compared(old) != _compared(new)


def _compared(route: TopicRouteData) -> tuple[object, ...]:
    return (
        sorted(route.queue_datas, key=attrgetter("broker_name")),
        [_broker(broker) for broker in sorted(route.broker_datas, key=attrgetter("broker_name"))],
        route.order_topic_conf,
        route.filter_server_table,
        route.topic_queue_mapping_by_broker,
    )


def _broker(broker: BrokerData) -> tuple[str, dict[int, str]]:
    return broker.broker_name, broker.broker_addrs


def route_events(
    topic: str,
    old: TopicRouteData | None,
    new: TopicRouteData,
    *,
    was_absent: bool = False,
    is_template: bool = False,
) -> Iterator[TopicEvent]:
    """Yield the events of a new route; none if nothing has changed.

    Args:
        topic: the topic of both routes.
        old: the route that was in use; None if there was none.
        new: the route from now on; RouteDataError if it can't be turned into queues.
        was_absent: `RouteVanished` was sent for `old`.
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


def kind_of(event: TopicEvent) -> str:
    """Return what an event is about: `route`, `publish` or `subscribe`."""
    if isinstance(event, PublishQueuesChanged):
        return "publish"
    return "subscribe" if isinstance(event, SubscribeQueuesChanged) else "route"


def coalesce(first: TopicEvent, then: TopicEvent) -> TopicEvent | None:
    """Merge two events of one topic and kind; None if they cancel each other out.

    A kind is the route, the queues to publish to, or those to consume from.
    """
    if isinstance(first, PublishQueuesChanged) and isinstance(then, PublishQueuesChanged):
        return None if first.old == then.new else PublishQueuesChanged(then.topic, first.old, then.new)
    if isinstance(first, SubscribeQueuesChanged) and isinstance(then, SubscribeQueuesChanged):
        return None if first.old == then.new else SubscribeQueuesChanged(then.topic, first.old, then.new)
    if isinstance(first, QueueEvent) or isinstance(then, QueueEvent):
        raise TypeError(f"events of two kinds: {first!r}, {then!r}")
    return _route_event(first, then)


def _route_event(first: RouteEvent, then: RouteEvent) -> RouteEvent | None:
    old = None if isinstance(first, RouteAppeared) else first.old
    if isinstance(then, RouteVanished):
        return replace(then, old=old)
    new = then.route if isinstance(then, RouteAppeared) else then.new
    if old is None:
        is_template = isinstance(then, RouteAppeared) and then.is_template
        return RouteAppeared(then.topic, new, is_template=is_template)
    return RouteChanged(then.topic, old, new) if is_route_changed(old, new) else None
