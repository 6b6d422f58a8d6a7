"""Request code -> handler: every request that the name server handles."""

from collections.abc import Callable, Generator, Mapping
from functools import partial

from namekeeper.messages.routing import wants_standard_json
from namekeeper.model.now import Now
from namekeeper.processor import kv, registration, routing, settings, topics
from namekeeper.processor.outcome import Deferred, Outcome, Sliced
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.wire.codes import RequestCode as Code
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = [
    "CHANGERS",
    "LISTERS",
    "READERS",
    "Changer",
    "Lister",
    "Reader",
    "go_away",
    "not_supported",
    "sliced",
    "unless_leaving",
]

Reader = Callable[[NameServerState, RemotingCommand], "Response | Sliced"]
"""Answers from the current state, at once or slice by slice, and changes nothing; raises RequestError for an
error code."""

Lister = Callable[[NameServerState, RemotingCommand], Generator[None, None, Response]]
"""A reader that looks at every topic or broker, slice by slice: others are served between two slices."""

Changer = Callable[[NameServerState, RemotingCommand, Channel, Now], "Outcome | Deferred"]
"""Changes the state, at once or slice by slice; raises RequestError for an error code."""

READERS: Mapping[int, Reader] = {
    Code.GET_KV_CONFIG: kv.get_kv_config,
    Code.GET_ROUTEINFO_BY_TOPIC: routing.get_route_info_by_topic,
    Code.GET_KVLIST_BY_NAMESPACE: kv.get_kv_list_by_namespace,
    Code.GET_SYSTEM_TOPIC_LIST_FROM_NS: topics.get_system_topic_list,
    Code.GET_NAMESRV_CONFIG: settings.get_namesrv_config,
    Code.GET_BROKER_MEMBER_GROUP: routing.get_broker_member_group,
}

LISTERS: Mapping[int, Lister] = {
    Code.GET_BROKER_CLUSTER_INFO: routing.get_broker_cluster_info,
    Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: topics.get_all_topic_list,
    Code.GET_TOPICS_BY_CLUSTER: topics.get_topics_by_cluster,
    Code.GET_UNIT_TOPIC_LIST: topics.get_unit_topic_list,
    Code.GET_HAS_UNIT_SUB_TOPIC_LIST: topics.get_has_unit_sub_topic_list,
    Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: topics.get_has_unit_sub_ununit_topic_list,
}

CHANGERS: Mapping[int, Changer] = {
    Code.PUT_KV_CONFIG: kv.put_kv_config,
    Code.DELETE_KV_CONFIG: kv.delete_kv_config,
    Code.REGISTER_BROKER: registration.register_broker,
    Code.UNREGISTER_BROKER: registration.unregister_broker,
    Code.WIPE_WRITE_PERM_OF_BROKER: topics.wipe_write_perm_of_broker,
    Code.DELETE_TOPIC_IN_NAMESRV: topics.delete_topic_in_namesrv,
    Code.REGISTER_TOPIC_IN_NAMESRV: topics.register_topic_in_namesrv,
    Code.UPDATE_NAMESRV_CONFIG: settings.update_namesrv_config,
    Code.QUERY_DATA_VERSION: registration.query_data_version,
    Code.ADD_WRITE_PERM_OF_BROKER: topics.add_write_perm_of_broker,
    Code.BROKER_HEARTBEAT: registration.broker_heartbeat,
}

GO_AWAY_SINCE = 475
"""Requesters newer than 5.3.1 understand GO_AWAY (protocol.md 1.8)."""


def go_away(state: NameServerState, request: RemotingCommand) -> Response | None:
    """The answer of a server that is about to stop, for requesters that understand it."""
    if state.settings.enable_shutdown_gracefully and request.version > GO_AWAY_SINCE:
        return Response(ResponseCode.GO_AWAY, "please go away")
    return None


def not_supported(request: RemotingCommand) -> Response:
    """The answer to a code that nobody handles; the leading space is Java's (protocol.md 1.8)."""
    return Response(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported")


def sliced(lister: Lister, state: NameServerState, request: RemotingCommand) -> Sliced:
    """The answer of a lister; who asks for the same list in the same form of JSON gets the same one."""
    cluster = (request.ext_fields or {}).get("cluster", "")
    key = (request.code, cluster, wants_standard_json(request.version))
    return Sliced(key, partial(lister, state, request))


def unless_leaving(reader: Reader) -> Reader:
    """The same reader, but a server that is leaving answers GO_AWAY to those who understand it."""
    return lambda state, request: go_away(state, request) or reader(state, request)
