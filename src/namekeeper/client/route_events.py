"""What happened to the routes of a client, as values, and what two events in a row amount to."""

from msgspec import Struct
from msgspec.structs import replace

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.route_change import is_route_changed
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
    "kind_of",
]


class RouteAppeared(Struct, frozen=True):
    """A topic has a route: for the first time, or again after `RouteVanished`."""

    topic: str
    route: TopicRouteData
    is_template: bool = False
    """It is the route of TBW102: the topic doesn't exist, and a broker would create it when it is sent to."""


class RouteChanged(Struct, frozen=True):
    """A topic has another route."""

    topic: str
    old: TopicRouteData
    new: TopicRouteData


class RouteVanished(Struct, frozen=True):
    """All name servers that answered say that there is no such topic; `last` stays in use, as in Java."""

    topic: str
    old: TopicRouteData | None
    """The route that was told of before; None if none was: it came and went while nobody read."""
    last: TopicRouteData
    said_by: tuple[str, ...]
    """The name servers that say so. One that was restarted does, until brokers have registered again."""
    unreachable: tuple[str, ...] = ()
    """Those that gave no answer."""


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


def kind_of(event: TopicEvent) -> str:
    """Return which of the three things about a topic an event tells of."""
    if isinstance(event, PublishQueuesChanged):
        return "publish"
    return "subscribe" if isinstance(event, SubscribeQueuesChanged) else "route"


def coalesce(first: TopicEvent, then: TopicEvent) -> TopicEvent | None:
    """Return what two events of one topic and kind amount to; None if they cancel each other out.

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
