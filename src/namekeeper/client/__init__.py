"""The client's side: routes kept fresh, message queues from them, the choice between queues.

What programs need can be imported from here: `from namekeeper.client import MQClientInstance`.
A name is loaded when it is first used. Inside of namekeeper, modules are imported by their own names.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from namekeeper.client.allocation.averagely import (
        AllocateMessageQueueAveragely,
        AllocateMessageQueueAveragelyByCircle,
    )
    from namekeeper.client.blocking import (
        BlockingClient,
        BlockingConsumer,
        BlockingEvents,
        BlockingProducer,
    )
    from namekeeper.client.client_config import ClientConfig
    from namekeeper.client.client_tables import ClientTables, FindBrokerResult
    from namekeeper.client.consumer import Consumer
    from namekeeper.client.event_stream import EventStream
    from namekeeper.client.instance import MQClientInstance
    from namekeeper.client.knowledge import ClientStatus, TopicKnowledge
    from namekeeper.client.message_queue import MessageQueue
    from namekeeper.client.name_servers import NamesrvStatus
    from namekeeper.client.producer import Producer
    from namekeeper.client.publish_info import TopicPublishInfo
    from namekeeper.client.queue_selection import ThreadLocalIndex, select_one_message_queue
    from namekeeper.client.route_events import (
        PublishQueuesChanged,
        RouteAppeared,
        RouteChanged,
        RouteVanished,
        SubscribeQueuesChanged,
        TopicEvent,
    )

__all__ = [
    "AllocateMessageQueueAveragely",
    "AllocateMessageQueueAveragelyByCircle",
    "BlockingClient",
    "BlockingConsumer",
    "BlockingEvents",
    "BlockingProducer",
    "ClientConfig",
    "ClientStatus",
    "ClientTables",
    "Consumer",
    "EventStream",
    "FindBrokerResult",
    "MQClientInstance",
    "MessageQueue",
    "NamesrvStatus",
    "Producer",
    "PublishQueuesChanged",
    "RouteAppeared",
    "RouteChanged",
    "RouteVanished",
    "SubscribeQueuesChanged",
    "ThreadLocalIndex",
    "TopicEvent",
    "TopicKnowledge",
    "TopicPublishInfo",
    "select_one_message_queue",
]

_MODULES = {
    "AllocateMessageQueueAveragely": "allocation.averagely",
    "AllocateMessageQueueAveragelyByCircle": "allocation.averagely",
    "BlockingClient": "blocking",
    "BlockingConsumer": "blocking",
    "BlockingEvents": "blocking",
    "BlockingProducer": "blocking",
    "ClientConfig": "client_config",
    "ClientStatus": "knowledge",
    "ClientTables": "client_tables",
    "Consumer": "consumer",
    "EventStream": "event_stream",
    "FindBrokerResult": "client_tables",
    "MQClientInstance": "instance",
    "MessageQueue": "message_queue",
    "NamesrvStatus": "name_servers",
    "Producer": "producer",
    "PublishQueuesChanged": "route_events",
    "RouteAppeared": "route_events",
    "RouteChanged": "route_events",
    "RouteVanished": "route_events",
    "SubscribeQueuesChanged": "route_events",
    "ThreadLocalIndex": "queue_selection",
    "TopicEvent": "route_events",
    "TopicKnowledge": "knowledge",
    "TopicPublishInfo": "publish_info",
    "select_one_message_queue": "queue_selection",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
