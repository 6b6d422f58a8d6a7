"""The tables of a client, and how a new route changes them (protocol.md 7.4); no I/O, no clock."""

from collections.abc import Iterable

from msgspec import Struct

from namekeeper.client.groups import Consumer, Producer
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import static_endpoints, topic_publish_info, topic_subscribe_info
from namekeeper.client.routes.events import is_route_changed
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.route import TopicRouteData

__all__ = ["ClientTables", "FindBrokerResult"]


class FindBrokerResult(Struct, frozen=True):
    """Where a broker is."""

    broker_addr: str
    slave: bool
    broker_version: int = 0
    """Version of the broker (protocol.md 1.9); 0 if it is not known."""


class ClientTables:
    """The tables of a client, with RocketMQ's names, as in Java's `MQClientInstance`."""

    def __init__(self) -> None:
        self.producer_table: dict[str, Producer] = {}
        self.consumer_table: dict[str, Consumer] = {}
        self.topic_route_table: dict[str, TopicRouteData] = {}
        self.topic_end_points_table: dict[str, dict[MessageQueue, str]] = {}
        """Static topics: logical queue -> name of the broker behind it."""
        self.broker_addr_table: dict[str, dict[int, str]] = {}
        """Broker name -> broker id -> address."""
        self.broker_cluster_table: dict[str, str] = {}
        """Broker name -> its cluster."""
        self.broker_version_table: dict[str, dict[str, int]] = {}
        """Broker name -> address -> version; filled by code that talks to brokers. This client does not."""

    def topics(self) -> Iterable[str]:
        """Topics to keep fresh: what consumers subscribe to, and what producers have in their tables."""
        for consumer in self.consumer_table.values():
            yield from consumer.subscription
        for producer in self.producer_table.values():
            yield from producer.topic_publish_info_table

    def is_need_update(self, topic: str) -> bool:
        """Whether some producer or consumer lacks what it needs, though the route may be known."""
        return any(
            producer.is_publish_topic_need_update(topic) for producer in self.producer_table.values()
        ) or any(consumer.is_subscribe_topic_need_update(topic) for consumer in self.consumer_table.values())

    def update(self, topic: str, route: TopicRouteData) -> bool:
        """Take a route; return whether anything changed.

        Raises:
            RouteDataError: no queues follow from it; nothing has changed then.
        """
        old = self.topic_route_table.get(topic)
        is_changed = old is not route and is_route_changed(old, route)
        if not is_changed and not self.is_need_update(topic):
            return False
        publish_info = topic_publish_info(topic, route)
        subscribe_info = topic_subscribe_info(topic, route)
        end_points = static_endpoints(topic, route)
        for broker in route.broker_datas:
            self.broker_addr_table[broker.broker_name] = broker.broker_addrs
            self.broker_cluster_table[broker.broker_name] = broker.cluster
        if end_points:
            self.topic_end_points_table[topic] = end_points
        for producer in self.producer_table.values():
            producer.update_topic_publish_info(topic, publish_info)
        for consumer in self.consumer_table.values():
            consumer.update_topic_subscribe_info(topic, subscribe_info)
        self.topic_route_table[topic] = route
        return True

    def clean_offline_broker(self) -> list[str]:
        """Forget the addresses that no route names any more; return them."""
        brokers = {
            id(broker): broker for route in self.topic_route_table.values() for broker in route.broker_datas
        }
        online = {addr for broker in brokers.values() for addr in broker.broker_addrs.values()}
        gone = []
        for broker_name, addrs in list(self.broker_addr_table.items()):
            left = {broker_id: addr for broker_id, addr in addrs.items() if addr in online}
            gone += [addr for addr in addrs.values() if addr not in online]
            if not left:
                for table in (self.broker_addr_table, self.broker_cluster_table, self.broker_version_table):
                    table.pop(broker_name, None)
            elif len(left) < len(addrs):
                self.broker_addr_table[broker_name] = left
        return gone

    def find_broker_address_in_publish(self, broker_name: str) -> str | None:
        """Return the address of a master."""
        return self.broker_addr_table.get(broker_name, {}).get(MASTER_ID)

    def find_broker_address_in_subscribe(
        self, broker_name: str, broker_id: int = MASTER_ID, *, only_this_broker: bool = False
    ) -> FindBrokerResult | None:
        """Return where to consume from: the broker with this id; else the next slave, else any other.

        Args:
            broker_name: its name.
            broker_id: 0 is the master.
            only_this_broker: return None rather than any other broker.
        """
        addrs = self.broker_addr_table.get(broker_name)
        if not addrs:
            return None
        if broker_id in addrs:
            found = broker_id
        elif broker_id != MASTER_ID and broker_id + 1 in addrs:
            found = broker_id + 1
        elif only_this_broker:
            return None
        else:
            found = next(iter(addrs))
        addr = addrs[found]
        version = self.broker_version_table.get(broker_name, {}).get(addr, 0)
        return FindBrokerResult(addr, found != MASTER_ID, version)

    def broker_name_of(self, queue: MessageQueue) -> str:
        """Return the name of the broker that has a queue; for a static topic, the one that hosts it now."""
        return self.topic_end_points_table.get(queue.topic, {}).get(queue, queue.broker_name)
