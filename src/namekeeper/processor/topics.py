"""Requests about topics: lists, deletion, manual registration, write permissions (protocol.md 2.4 on)."""

from collections.abc import Callable, Generator

from namekeeper.errors import RequestError
from namekeeper.messages.bodies import decode_topic_route, encode_topic_list, is_absent
from namekeeper.messages.fields import decode_header, encode_header
from namekeeper.messages.topics import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteTopicFromNamesrvRequestHeader,
    GetTopicsByClusterRequestHeader,
    RegisterTopicRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)
from namekeeper.model.now import Now
from namekeeper.model.route import TopicList
from namekeeper.model.topic import QueueData, QueueSpec
from namekeeper.processor.handlers import handles
from namekeeper.processor.limits import check_names
from namekeeper.processor.outcome import Deferred
from namekeeper.processor.state import NameServerState
from namekeeper.route import queries
from namekeeper.route.assessment import topic_rows_reached
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause
from namekeeper.route.topics import ChangeWritePerm, DeleteTopic, RegisterTopic
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = [
    "add_write_perm_of_broker",
    "delete_topic_in_namesrv",
    "get_all_topic_list",
    "get_has_unit_sub_topic_list",
    "get_has_unit_sub_ununit_topic_list",
    "get_system_topic_list",
    "get_topics_by_cluster",
    "get_unit_topic_list",
    "register_topic_in_namesrv",
    "wipe_write_perm_of_broker",
]

Slices = Generator[None, None, Response]
"""An answer made incrementally; a RequestError comes with the first slice."""


@handles(RequestCode.WIPE_WRITE_PERM_OF_BROKER)
def wipe_write_perm_of_broker(
    state: NameServerState, request: RemotingCommand, channel: Channel, now: Now
) -> Deferred:
    """WIPE_WRITE_PERM_OF_BROKER (205)."""
    header = decode_header(WipeWritePermOfBrokerRequestHeader, request.ext_fields)
    change = ChangeWritePerm(header.broker_name, Cause.WIPE_WRITE_PERM, channel.remote_addr)
    return Deferred(
        change, lambda count: Response(ext_fields=encode_header(WipeWritePermOfBrokerResponseHeader(count)))
    )


@handles(RequestCode.ADD_WRITE_PERM_OF_BROKER)
def add_write_perm_of_broker(
    state: NameServerState, request: RemotingCommand, channel: Channel, now: Now
) -> Deferred:
    """ADD_WRITE_PERM_OF_BROKER (327)."""
    header = decode_header(AddWritePermOfBrokerRequestHeader, request.ext_fields)
    change = ChangeWritePerm(header.broker_name, Cause.ADD_WRITE_PERM, channel.remote_addr)
    return Deferred(
        change, lambda count: Response(ext_fields=encode_header(AddWritePermOfBrokerResponseHeader(count)))
    )


@handles(RequestCode.DELETE_TOPIC_IN_NAMESRV)
def delete_topic_in_namesrv(
    state: NameServerState, request: RemotingCommand, channel: Channel, now: Now
) -> Deferred:
    """DELETE_TOPIC_IN_NAMESRV (216)."""
    header = decode_header(DeleteTopicFromNamesrvRequestHeader, request.ext_fields)
    change = DeleteTopic(header.topic, header.cluster_name, channel.remote_addr)
    return Deferred(change, lambda _: Response())


@handles(RequestCode.REGISTER_TOPIC_IN_NAMESRV)
def register_topic_in_namesrv(
    state: NameServerState, request: RemotingCommand, channel: Channel, now: Now
) -> Deferred:
    """REGISTER_TOPIC_IN_NAMESRV (217): only the queue data of the body counts."""
    header = decode_header(RegisterTopicRequestHeader, request.ext_fields)
    name_limit = state.settings.name_characters_limit
    check_names(name_limit, topic=header.topic)
    queue_datas = [] if is_absent(request.body) else decode_topic_route(request.body).queue_datas
    limit = state.settings.broker_names_limit
    if 0 < limit < len(queue_datas):
        raise RequestError(
            ResponseCode.SYSTEM_ERROR,
            f"{len(queue_datas)} queue data; {limit} are allowed (brokerNamesLimit)",
        )
    if state.tables.is_full and not state.tables.topic_index.names(header.topic):
        raise RequestError(ResponseCode.SYSTEM_ERROR, topic_rows_reached(state.settings.topic_rows_limit))
    if queue_datas:
        check_names(name_limit, broker_name=max((data.broker_name for data in queue_datas), key=len))
    queues = tuple((data.broker_name, _spec(data)) for data in queue_datas)
    return Deferred(RegisterTopic(header.topic, queues, channel.remote_addr), lambda _: Response())


@handles(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
def get_all_topic_list(state: NameServerState, request: RemotingCommand) -> Slices:
    """GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206)."""
    if not state.settings.enable_all_topic_list:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "disable")
    return _list_response((yield from queries.all_topics(state.tables)))


@handles(RequestCode.GET_TOPICS_BY_CLUSTER)
def get_topics_by_cluster(state: NameServerState, request: RemotingCommand) -> Slices:
    """GET_TOPICS_BY_CLUSTER (224)."""
    _check_topic_list_enabled(state)
    header = decode_header(GetTopicsByClusterRequestHeader, request.ext_fields)
    return _list_response((yield from queries.topics_of_cluster(state.tables, header.cluster)))


@handles(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
def get_system_topic_list(state: NameServerState, request: RemotingCommand) -> Response:
    """GET_SYSTEM_TOPIC_LIST_FROM_NS (304)."""
    return _list_response(queries.system_topics(state.tables))


@handles(RequestCode.GET_UNIT_TOPIC_LIST)
def get_unit_topic_list(state: NameServerState, request: RemotingCommand) -> Slices:
    """GET_UNIT_TOPIC_LIST (311)."""
    return _unit_list(state, queries.is_unit)


@handles(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST)
def get_has_unit_sub_topic_list(state: NameServerState, request: RemotingCommand) -> Slices:
    """GET_HAS_UNIT_SUB_TOPIC_LIST (312)."""
    return _unit_list(state, queries.has_unit_sub)


@handles(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)
def get_has_unit_sub_ununit_topic_list(state: NameServerState, request: RemotingCommand) -> Slices:
    """GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST (313)."""
    return _unit_list(state, queries.has_unit_sub_ununit)


def _unit_list(state: NameServerState, accepts: Callable[[int], bool]) -> Slices:
    _check_topic_list_enabled(state)
    return _list_response((yield from queries.unit_topics(state.tables, accepts)))


def _check_topic_list_enabled(state: NameServerState) -> None:
    if not state.settings.enable_topic_list:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "disable")


def _list_response(topics: TopicList) -> Response:
    return Response(body=encode_topic_list(topics))


def _spec(data: QueueData) -> QueueSpec:
    return QueueSpec(data.read_queue_nums, data.write_queue_nums, data.perm, data.topic_sys_flag)
