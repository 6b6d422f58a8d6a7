"""The client's side: routes kept fresh, message queues from them, the choice between queues.

Programs can import all public names from here: `from namekeeper.client import MQClientInstance`.
A name is loaded when it is first used. Inside namekeeper, modules are imported by their own names.
"""

from typing import TYPE_CHECKING

from namekeeper.common.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from namekeeper.client.blocking import (
        BlockingClient,
        BlockingConsumer,
        BlockingEvents,
        BlockingProducer,
    )
    from namekeeper.client.client_config import ClientConfig
    from namekeeper.client.groups import Consumer, Producer
    from namekeeper.client.instance import MQClientInstance
    from namekeeper.client.name_servers import NamesrvStatus
    from namekeeper.client.queues.allocation import (
        AllocateMachineRoomNearby,
        AllocateMessageQueueAveragely,
        AllocateMessageQueueAveragelyByCircle,
        AllocateMessageQueueByConfig,
        AllocateMessageQueueByMachineRoom,
        AllocateMessageQueueConsistentHash,
        AllocateMessageQueueStrategy,
    )
    from namekeeper.client.queues.fault_tolerance import FaultTable, LatencyFaultTolerance, MQFaultStrategy
    from namekeeper.client.queues.fault_tolerance_4 import LatencyFaultTolerance4, MQFaultStrategy4
    from namekeeper.client.queues.message_queue import MessageQueue
    from namekeeper.client.queues.route_queues import (
        TopicPublishInfo,
        static_endpoints,
        topic_publish_info,
        topic_subscribe_info,
    )
    from namekeeper.client.queues.selection import ThreadLocalIndex, select_one_message_queue
    from namekeeper.client.routes.event_stream import EventStream
    from namekeeper.client.routes.events import (
        PublishQueuesChanged,
        RouteAppeared,
        RouteChanged,
        RouteVanished,
        SubscribeQueuesChanged,
        TopicEvent,
    )
    from namekeeper.client.routes.freshness import ClientStatus, TopicKnowledge
    from namekeeper.client.routes.tables import ClientTables, FindBrokerResult
    from namekeeper.client.subscription import SubscriptionData

__all__ = [
    "AllocateMachineRoomNearby",
    "AllocateMessageQueueAveragely",
    "AllocateMessageQueueAveragelyByCircle",
    "AllocateMessageQueueByConfig",
    "AllocateMessageQueueByMachineRoom",
    "AllocateMessageQueueConsistentHash",
    "AllocateMessageQueueStrategy",
    "BlockingClient",
    "BlockingConsumer",
    "BlockingEvents",
    "BlockingProducer",
    "ClientConfig",
    "ClientStatus",
    "ClientTables",
    "Consumer",
    "EventStream",
    "FaultTable",
    "FindBrokerResult",
    "LatencyFaultTolerance",
    "LatencyFaultTolerance4",
    "MQClientInstance",
    "MQFaultStrategy",
    "MQFaultStrategy4",
    "MessageQueue",
    "NamesrvStatus",
    "Producer",
    "PublishQueuesChanged",
    "RouteAppeared",
    "RouteChanged",
    "RouteVanished",
    "SubscribeQueuesChanged",
    "SubscriptionData",
    "ThreadLocalIndex",
    "TopicEvent",
    "TopicKnowledge",
    "TopicPublishInfo",
    "select_one_message_queue",
    "static_endpoints",
    "topic_publish_info",
    "topic_subscribe_info",
]

_MODULES = {
    "AllocateMachineRoomNearby": "queues.allocation",
    "AllocateMessageQueueAveragely": "queues.allocation",
    "AllocateMessageQueueAveragelyByCircle": "queues.allocation",
    "AllocateMessageQueueByConfig": "queues.allocation",
    "AllocateMessageQueueByMachineRoom": "queues.allocation",
    "AllocateMessageQueueConsistentHash": "queues.allocation",
    "AllocateMessageQueueStrategy": "queues.allocation",
    "BlockingClient": "blocking",
    "BlockingConsumer": "blocking",
    "BlockingEvents": "blocking",
    "BlockingProducer": "blocking",
    "ClientConfig": "client_config",
    "ClientStatus": "routes.freshness",
    "ClientTables": "routes.tables",
    "Consumer": "groups",
    "EventStream": "routes.event_stream",
    "FaultTable": "queues.fault_tolerance",
    "FindBrokerResult": "routes.tables",
    "LatencyFaultTolerance": "queues.fault_tolerance",
    "LatencyFaultTolerance4": "queues.fault_tolerance_4",
    "MQClientInstance": "instance",
    "MQFaultStrategy": "queues.fault_tolerance",
    "MQFaultStrategy4": "queues.fault_tolerance_4",
    "MessageQueue": "queues.message_queue",
    "NamesrvStatus": "name_servers",
    "Producer": "groups",
    "PublishQueuesChanged": "routes.events",
    "RouteAppeared": "routes.events",
    "RouteChanged": "routes.events",
    "RouteVanished": "routes.events",
    "SubscribeQueuesChanged": "routes.events",
    "SubscriptionData": "subscription",
    "ThreadLocalIndex": "queues.selection",
    "TopicEvent": "routes.events",
    "TopicKnowledge": "routes.freshness",
    "TopicPublishInfo": "queues.route_queues",
    "select_one_message_queue": "queues.selection",
    "static_endpoints": "queues.route_queues",
    "topic_publish_info": "queues.route_queues",
    "topic_subscribe_info": "queues.route_queues",
}

__getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
