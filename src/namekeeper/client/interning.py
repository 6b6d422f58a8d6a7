"""One object for equal parts of routes: thousands of topics share their brokers and queue numbers."""

from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData

__all__ = ["RouteInterner"]

MAX_KINDS = 10_000
"""Kinds of queue data that are remembered; then it begins anew, which costs memory and nothing else."""


class RouteInterner:
    """Remembers the parts of the routes that came before."""

    def __init__(self) -> None:
        self._brokers: dict[str, BrokerData] = {}
        self._queues: dict[QueueData, QueueData] = {}

    def intern(self, route: TopicRouteData) -> TopicRouteData:
        """Return an equal route, made of parts of earlier ones where they are equal."""
        for parts in (self._brokers, self._queues):
            if len(parts) > MAX_KINDS:
                parts.clear()
        return TopicRouteData(
            [self._broker(broker) for broker in route.broker_datas],
            [self._queues.setdefault(queues, queues) for queues in route.queue_datas],
            route.filter_server_table,
            route.order_topic_conf,
            route.topic_queue_mapping_by_broker,
        )

    def _broker(self, broker: BrokerData) -> BrokerData:
        known = self._brokers.get(broker.broker_name)
        if known == broker:
            return known
        self._brokers[broker.broker_name] = broker
        return broker
