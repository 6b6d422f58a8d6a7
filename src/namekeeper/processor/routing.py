"""Requests of clients: routes, cluster information, member groups (protocol.md 2.1, 2.2, 2.7)."""

from collections.abc import Generator
from functools import partial
from typing import NoReturn

from namekeeper.errors import RequestError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.messages.bodies import encode_broker_member_group, encode_cluster_info, encode_topic_route
from namekeeper.messages.fields import decode_header
from namekeeper.messages.routing import (
    STANDARD_JSON_VERSION,
    GetBrokerMemberGroupRequestHeader,
    wants_standard_json,
)
from namekeeper.processor.handlers import handles
from namekeeper.processor.outcome import Sliced
from namekeeper.processor.route_answers import no_route
from namekeeper.processor.state import NameServerState
from namekeeper.route import queries
from namekeeper.route.queries import in_zone
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import ZONE_MODE, RemotingCommand, Response

__all__ = [
    "form_of_answer",
    "get_broker_cluster_info",
    "get_broker_member_group",
    "get_route_info_by_topic",
    "refuse_lookup",
    "remember_answer",
]

MEMBER_GROUP_REMARK = "not set any response code"
"""The remark of Java's answer to 901, even with success (trap T20)."""


@handles(RequestCode.GET_ROUTEINFO_BY_TOPIC)
def get_route_info_by_topic(state: NameServerState, request: RemotingCommand) -> Response | Sliced:
    """GET_ROUTEINFO_BY_TOPIC (105): first the usual case, which must be fast, then the rare ones."""
    fields = request.ext_fields
    if fields is not None and ZONE_MODE not in fields and not state.is_waiting_for_service:
        standard = _wants_standard(fields, request.version)
        topic = fields.get("topic")
        return state.route_answers.get(topic, standard) or no_route(topic)
    return _rare_answer(state, fields or {}, request.version)


def _rare_answer(state: NameServerState, fields: dict[str, str], version: int) -> Response | Sliced:
    if state.is_waiting_for_service:
        refuse_lookup(state)
    topic = fields.get("topic")
    zone_name = _zone_of(fields)
    if topic is not None and zone_name is not None:
        return _zone_route(state, topic, zone_name)
    standard = _wants_standard(fields, version)
    return state.route_answers.get(topic, standard) or no_route(topic)


def refuse_lookup(state: NameServerState, request: RemotingCommand | None = None) -> NoReturn:
    """Refuse 105, so that the client asks another name server: brokers may not be back, or the server stops.

    Raises:
        RequestError: SYSTEM_ERROR (1).
    """
    raise RequestError(ResponseCode.SYSTEM_ERROR, "name server not ready")


def remember_answer(cache: LookupCache, request: RemotingCommand, body: bytes, revision: int) -> None:
    """Count a lookup that had a route, and cache its answer for the next ones.

    Args:
        cache: gets the bytes of the request, and the topic if every lookup of it gets the same answer.
        request: the lookup.
        body: the answer's.
        revision: the cache's from before the answer was made.
    """
    topic = (request.ext_fields or {})["topic"]
    cache.count(topic)
    if request.header and not request.flag:
        cache.learn(request.header, request.opaque, topic=topic, body=body, revision=revision)
    front = cache.topic_answers
    if front.has_store and revision == cache.revision:
        standard = form_of_answer(request)
        if standard is not None:
            front.learn(topic, body, standard=standard)


def form_of_answer(request: RemotingCommand) -> bool | None:
    """Whether a lookup gets the answer of its topic in standard JSON.

    None if it gets another answer, narrowed to a zone.
    """
    fields = request.ext_fields or {}
    return None if ZONE_MODE in fields else _wants_standard(fields, request.version)


def _wants_standard(fields: dict[str, str], version: int) -> bool:
    return version >= STANDARD_JSON_VERSION or fields.get("acceptStandardJsonOnly", "").lower() == "true"


@handles(RequestCode.GET_BROKER_CLUSTER_INFO)
def get_broker_cluster_info(
    state: NameServerState, request: RemotingCommand
) -> Generator[None, None, Response]:
    """GET_BROKER_CLUSTER_INFO (106): from the tables as they are in the first slice."""
    standard = wants_standard_json(request.version)
    body = yield from encode_cluster_info(queries.cluster_info(state.tables), standard=standard)
    return Response(body=body)


@handles(RequestCode.GET_BROKER_MEMBER_GROUP)
def get_broker_member_group(state: NameServerState, request: RemotingCommand) -> Response:
    """GET_BROKER_MEMBER_GROUP (901)."""
    header = decode_header(GetBrokerMemberGroupRequestHeader, request.ext_fields)
    group = queries.broker_member_group(state.tables, header.cluster_name, header.broker_name)
    standard = wants_standard_json(request.version)
    return Response(remark=MEMBER_GROUP_REMARK, body=encode_broker_member_group(group, standard=standard))


def _zone_of(fields: dict[str, str]) -> str | None:
    """The zone of an answer that is narrowed to one; otherwise None (protocol.md 2.1.1)."""
    zone_name = fields.get("__ZONE_NAME", "")
    if fields.get(ZONE_MODE, "").lower() != "true" or not zone_name.strip():
        return None
    return zone_name


def _zone_route(state: NameServerState, topic: str, zone_name: str) -> Response | Sliced:
    """Encode the route anew, in the legacy form for every client, as Java does (trap T4)."""
    if state.route_answers.is_wide(topic):
        return Sliced((topic, zone_name), partial(_wide_zone_route, state, topic, zone_name))
    route = state.route_answers.route(topic)
    if route is None:
        return no_route(topic)
    return Response(body=encode_topic_route(in_zone(route, zone_name), standard=False))


def _wide_zone_route(state: NameServerState, topic: str, zone_name: str) -> Generator[None, None, Response]:
    answers = state.route_answers
    route = answers.route(topic)
    yield
    if route is None:
        return no_route(topic)
    narrowed = in_zone(route, zone_name)
    yield
    return Response(body=(yield from answers.encode_in_slices(narrowed, standard=False)))
