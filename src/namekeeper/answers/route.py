"""The route of a topic in a state, by the rules by which the server answers request 105."""

from collections.abc import Mapping

from msgspec import structs

from namekeeper.journal.reading.state import State
from namekeeper.model.route import TopicRouteData
from namekeeper.processor.route_answers import ORDER_TOPIC_CONFIG
from namekeeper.route.queries import topic_route

__all__ = ["route_of"]


def route_of(state: State, topic: str) -> TopicRouteData | None:
    """The route as a client would have received it; None if there was none."""
    acting = _is_on(state.properties, "supportActingMaster")
    route = topic_route(state.tables, topic, support_acting_master=acting)
    if route is None or not _is_on(state.properties, "orderMessageEnable"):
        return route
    order = state.kv.get(ORDER_TOPIC_CONFIG, {}).get(topic)
    return structs.replace(route, order_topic_conf=order)


def _is_on(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name) == "true"
