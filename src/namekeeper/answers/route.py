"""The route of a topic in a state, by the rules by which the server answers request 105."""

from collections.abc import Mapping

from msgspec import structs

from namekeeper.answers.render import RouteAt, UncertainChange
from namekeeper.history.history import History
from namekeeper.history.rows import AnyKey, Row
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.state import State
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.model.route import TopicRouteData
from namekeeper.route.queries import topic_route

__all__ = ["route_at", "route_of", "uncertain_changes"]


def route_of(state: State, topic: str) -> TopicRouteData | None:
    """The route as a client would have received it; None if there was none."""
    acting = _is_on(state.properties, "supportActingMaster")
    route = topic_route(state.tables, topic, support_acting_master=acting)
    if route is None or not _is_on(state.properties, "orderMessageEnable"):
        return route
    order = state.kv.get(ORDER_TOPIC_CONFIG, {}).get(topic)
    return structs.replace(route, order_topic_conf=order)


def route_at(history: History, topic: str, at: int) -> RouteAt:
    """The route of a topic at one name server, at a time (wall ms)."""
    knowledge = history.knowledge(at)
    if knowledge is not Knowledge.KNOWN:
        return RouteAt(history.namesrv, at, knowledge, history.knows_up_to, None)
    route = route_of(history.state_at(at, topic), topic)
    uncertain = uncertain_changes(history, topic, at)
    return RouteAt(history.namesrv, at, knowledge, history.knows_up_to, route, uncertain)


def uncertain_changes(history: History, topic: str, at: int) -> list[UncertainChange]:
    """The changes of a route that may have happened before a time, whose state must be known, or after it."""
    found: list[UncertainChange] = []
    changed: dict[AnyKey, Row | None] = {}
    before: TopicRouteData | None = None
    for event in history.in_question(at):
        if not changed:
            before = route_of(history.state_at(at, topic), topic)
        changed.update((row.key, row.after) for row in event.rows)
        after = route_of(history.state_at(at, topic, changed), topic)
        if after != before:
            found.append(UncertainChange(event.at, event.window_ms, event.cause, after))
        before = after
    return found


def _is_on(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name) == "true"
