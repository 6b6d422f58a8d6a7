"""Whether a new route differs from the one that is kept, as Java's client judges it (protocol.md 7.4)."""

from operator import attrgetter

from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData

__all__ = ["is_route_changed"]


def is_route_changed(old: TopicRouteData | None, new: TopicRouteData | None) -> bool:
    """Say whether the routes differ, in any order of their brokers; a missing one always does.

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
