"""One coroutine for each administrative request to a name server.

Each takes the name server to ask first and returns a typed value.
An answer other than SUCCESS is raised as `ResponseError` with the server's address and remark, one that can't
be read as `RemotingError`; a server that gives no answer raises `RemotingError`, too.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct

from namekeeper.admin.views import DataVersionAnswer, UnitTopics
from namekeeper.config.properties import format_properties
from namekeeper.errors import RemotingError, RequestError, ResponseError
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.messages.bodies import (
    decode_broker_member_group,
    decode_cluster_info,
    decode_data_version,
    decode_kv_table,
    decode_topic_list,
    decode_topic_route,
    encode_data_version,
    encode_topic_route,
)
from namekeeper.messages.fields import decode_header, encode_header
from namekeeper.messages.kv import (
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    PutKVConfigRequestHeader,
)
from namekeeper.messages.registration import (
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    UnRegisterBrokerRequestHeader,
)
from namekeeper.messages.routing import GetBrokerMemberGroupRequestHeader, GetRouteInfoRequestHeader
from namekeeper.messages.topics import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteTopicFromNamesrvRequestHeader,
    GetTopicsByClusterRequestHeader,
    RegisterTopicRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)
from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.model.version import DataVersion
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand

__all__ = [
    "DEFAULT_TIMEOUT_MS",
    "Namesrv",
    "add_write_perm",
    "all_topics",
    "broker_member_group",
    "cluster_info",
    "delete_kv_config",
    "delete_order_conf",
    "delete_topic",
    "get_kv_config",
    "get_namesrv_config",
    "get_order_conf",
    "kv_list",
    "put_kv_config",
    "put_order_conf",
    "query_data_version",
    "read_properties_answer",
    "register_topic",
    "system_topics",
    "topic_route",
    "topics_by_cluster",
    "unit_topics",
    "update_namesrv_config",
    "wipe_write_perm",
]

T = TypeVar("T")
D = TypeVar("D")

DEFAULT_TIMEOUT_MS = 5_000
"""As in Java's admin client: a full topic list of a large cluster takes time."""

_UNIT_CODES = {
    UnitTopics.UNIT: RequestCode.GET_UNIT_TOPIC_LIST,
    UnitTopics.HAS_UNIT_SUB: RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
    UnitTopics.HAS_UNIT_SUB_UNUNIT: RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
}


class Namesrv(Struct, frozen=True):
    """A name server's address, and the sender of requests to it."""

    addr: str
    sender: RequestSender
    timeout_ms: int = DEFAULT_TIMEOUT_MS


async def topic_route(namesrv: Namesrv, topic: str) -> TopicRouteData:
    """Return the route of a topic; an unknown one is a ResponseError with TOPIC_NOT_EXIST."""
    header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
    return _read(
        namesrv, decode_topic_route, (await _send(namesrv, RequestCode.GET_ROUTEINFO_BY_TOPIC, header)).body
    )


async def cluster_info(namesrv: Namesrv) -> ClusterInfo:
    """Return every broker name with its addresses, and the broker names of each cluster."""
    return _read(
        namesrv, decode_cluster_info, (await _send(namesrv, RequestCode.GET_BROKER_CLUSTER_INFO)).body
    )


async def broker_member_group(namesrv: Namesrv, cluster_name: str, broker_name: str) -> BrokerMemberGroup:
    """Return the members of one broker name; none when it is unknown."""
    header = GetBrokerMemberGroupRequestHeader(cluster_name=cluster_name, broker_name=broker_name)
    return _read(
        namesrv,
        decode_broker_member_group,
        (await _send(namesrv, RequestCode.GET_BROKER_MEMBER_GROUP, header)).body,
    )


async def all_topics(namesrv: Namesrv) -> TopicList:
    """Return every topic."""
    return _read(
        namesrv,
        decode_topic_list,
        (await _send(namesrv, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)).body,
    )


async def topics_by_cluster(namesrv: Namesrv, cluster_name: str) -> TopicList:
    """Return the topics that brokers of this cluster have."""
    header = GetTopicsByClusterRequestHeader(cluster=cluster_name)
    return _read(
        namesrv, decode_topic_list, (await _send(namesrv, RequestCode.GET_TOPICS_BY_CLUSTER, header)).body
    )


async def system_topics(namesrv: Namesrv) -> TopicList:
    """Return the names of clusters and brokers, which are topics too, and some broker to ask for more."""
    return _read(
        namesrv, decode_topic_list, (await _send(namesrv, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)).body
    )


async def unit_topics(namesrv: Namesrv, which: UnitTopics) -> TopicList:
    """Return the topics whose flags say that they belong to a unit, or have subscriptions of one."""
    return _read(namesrv, decode_topic_list, (await _send(namesrv, _UNIT_CODES[which])).body)


async def delete_topic(namesrv: Namesrv, topic: str, cluster_name: str | None = None) -> None:
    """Remove a topic from this name server only; brokers that still have it bring it back."""
    header = DeleteTopicFromNamesrvRequestHeader(topic=topic, cluster_name=cluster_name)
    await _send(namesrv, RequestCode.DELETE_TOPIC_IN_NAMESRV, header)


async def register_topic(namesrv: Namesrv, topic: str, queues: Sequence[QueueData]) -> None:
    """Set the rows of a topic on broker names that are registered (protocol.md 2.12); not in 4.x."""
    body = encode_topic_route(TopicRouteData(queue_datas=list(queues)), standard=True)
    await _send(namesrv, RequestCode.REGISTER_TOPIC_IN_NAMESRV, RegisterTopicRequestHeader(topic), body)


async def wipe_write_perm(namesrv: Namesrv, broker_name: str) -> int:
    """Take the write permission from every topic of a broker name; return how many topics it has."""
    header = WipeWritePermOfBrokerRequestHeader(broker_name=broker_name)
    answer = await _send(namesrv, RequestCode.WIPE_WRITE_PERM_OF_BROKER, header)
    return _read(
        namesrv, partial(decode_header, WipeWritePermOfBrokerResponseHeader), answer.ext_fields
    ).wipe_topic_count


async def add_write_perm(namesrv: Namesrv, broker_name: str) -> int:
    """Give every topic of a broker name read and write permission; return how many topics it has."""
    header = AddWritePermOfBrokerRequestHeader(broker_name=broker_name)
    answer = await _send(namesrv, RequestCode.ADD_WRITE_PERM_OF_BROKER, header)
    return _read(
        namesrv, partial(decode_header, AddWritePermOfBrokerResponseHeader), answer.ext_fields
    ).add_topic_count


async def get_kv_config(namesrv: Namesrv, namespace: str, key: str) -> str | None:
    """Return one value of the KV configuration, or None if there is none."""
    header = GetKVConfigRequestHeader(namespace=namespace, key=key)
    answer = await _send(namesrv, RequestCode.GET_KV_CONFIG, header, absent=ResponseCode.QUERY_NOT_FOUND)
    return _read(namesrv, partial(decode_header, GetKVConfigResponseHeader), answer.ext_fields).value


async def put_kv_config(namesrv: Namesrv, namespace: str, key: str, value: str) -> None:
    """Store one value of the KV configuration; a new namespace is created."""
    header = PutKVConfigRequestHeader(namespace=namespace, key=key, value=value)
    await _send(namesrv, RequestCode.PUT_KV_CONFIG, header)


async def delete_kv_config(namesrv: Namesrv, namespace: str, key: str) -> None:
    """Remove one value of the KV configuration, whether or not it exists."""
    header = DeleteKVConfigRequestHeader(namespace=namespace, key=key)
    await _send(namesrv, RequestCode.DELETE_KV_CONFIG, header)


async def kv_list(namesrv: Namesrv, namespace: str) -> dict[str, str] | None:
    """Return everything in a namespace of the KV configuration, or None if there is no such namespace."""
    header = GetKVListByNamespaceRequestHeader(namespace=namespace)
    answer = await _send(
        namesrv, RequestCode.GET_KVLIST_BY_NAMESPACE, header, absent=ResponseCode.QUERY_NOT_FOUND
    )
    return None if answer.code else _read(namesrv, decode_kv_table, answer.body)


async def get_order_conf(namesrv: Namesrv, topic: str) -> str | None:
    """Return the order configuration of a topic, `broker-a:4;broker-b:4`, or None if it has none."""
    return await get_kv_config(namesrv, ORDER_TOPIC_CONFIG, topic)


async def put_order_conf(namesrv: Namesrv, topic: str, order_conf: str) -> None:
    """Store the order configuration of a topic."""
    await put_kv_config(namesrv, ORDER_TOPIC_CONFIG, topic, order_conf)


async def delete_order_conf(namesrv: Namesrv, topic: str) -> None:
    """Remove the order configuration of a topic."""
    await delete_kv_config(namesrv, ORDER_TOPIC_CONFIG, topic)


async def get_namesrv_config(namesrv: Namesrv) -> dict[str, str]:
    """Return the properties that are in effect."""
    return read_properties_answer((await _send(namesrv, RequestCode.GET_NAMESRV_CONFIG)).body)


def read_properties_answer(body: bytes) -> dict[str, str]:
    """Return the properties in the answer to 319; they come unescaped, a line each (protocol.md 2.14)."""
    pairs = (line.partition("=") for line in body.decode(errors="replace").split("\n") if line)
    return {key: value for key, _, value in pairs}


async def update_namesrv_config(namesrv: Namesrv, properties: dict[str, str]) -> None:
    """Set properties of the running name server; unknown ones are ignored by it in silence."""
    await _send(namesrv, RequestCode.UPDATE_NAMESRV_CONFIG, body=format_properties(properties).encode())


async def unregister_broker(namesrv: Namesrv, broker: UnRegisterBrokerRequestHeader) -> None:
    """Unregister a broker; of one that is gone, the name server notes that it is not missing."""
    await _send(namesrv, RequestCode.UNREGISTER_BROKER, broker)


async def query_data_version(
    namesrv: Namesrv,
    broker: QueryDataVersionRequestHeader,
    data_version: DataVersion = DataVersion(),  # noqa: B008 - a frozen value
) -> DataVersionAnswer:
    """Compare a data version with the stored one of a broker.

    A name server treats the question as a heartbeat of this broker, so a dead broker stays registered for
    another expiry time (protocol.md 2.8).
    """
    answer = await _send(namesrv, RequestCode.QUERY_DATA_VERSION, broker, encode_data_version(data_version))
    changed = _read(
        namesrv, partial(decode_header, QueryDataVersionResponseHeader), answer.ext_fields
    ).changed
    return DataVersionAnswer(
        changed, _read(namesrv, decode_data_version, answer.body) if answer.body else None
    )


async def _send(
    namesrv: Namesrv,
    code: RequestCode,
    header: Struct | None = None,
    body: bytes = b"",
    *,
    absent: ResponseCode = ResponseCode.SUCCESS,
) -> RemotingCommand:
    """Send one request; raise on any answer but SUCCESS and the code that means "there is none"."""
    ext_fields = None if header is None else encode_header(header)
    answer = await namesrv.sender.invoke(namesrv.addr, code, ext_fields, body, timeout_ms=namesrv.timeout_ms)
    if answer.code not in (ResponseCode.SUCCESS, absent):
        raise ResponseError(namesrv.addr, answer.code, answer.remark)
    return answer


def _read(namesrv: Namesrv, decode: Callable[[D], T], data: D) -> T:
    """Decode a part of an answer; RemotingError with the server's address if it can't be read."""
    try:
        return decode(data)
    except RequestError as error:
        raise RemotingError(namesrv.addr, f"its answer can't be read: {error.remark}") from None
