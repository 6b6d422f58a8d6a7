"""The read requests of an observer, and how their answers are read.

An answer that lacks what every name server sends is refused. Otherwise an empty JSON object of another
program would look like a name server that lost all its brokers.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, json

from namekeeper.admin.operations import read_properties_answer
from namekeeper.errors import RequestError
from namekeeper.messages.body_types import (
    RawClusterInfo,
    RawKVTable,
    RawTopicList,
    RawTopicRouteData,
    decode_body,
)
from namekeeper.messages.fields import encode_header
from namekeeper.messages.kv import GetKVListByNamespaceRequestHeader
from namekeeper.messages.routing import GetRouteInfoRequestHeader
from namekeeper.model.now import Now
from namekeeper.model.route import ClusterInfo, TopicRouteData
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand

__all__ = [
    "BROKERS_LIMIT",
    "BROKER_NAMES_LIMIT",
    "NAMES_LIMIT",
    "NAME_LIMIT",
    "PROPERTIES_BYTES",
    "AskConfig",
    "AskKv",
    "AskMembers",
    "AskRoute",
    "AskTopics",
    "ObservedAnswer",
    "Question",
    "TooLargeError",
    "read_answer",
    "request_of",
]


class AskMembers(Struct, frozen=True):
    """Which brokers are there (106)."""


class AskTopics(Struct, frozen=True):
    """Which topics are there (206)."""


class AskRoute(Struct, frozen=True):
    """Request the queues of a topic (105)."""

    topic: str


class AskKv(Struct, frozen=True):
    """Request the entries of a namespace of the KV configuration (219)."""

    namespace: str


class AskConfig(Struct, frozen=True):
    """Request the properties (319)."""


Question: TypeAlias = AskMembers | AskTopics | AskRoute | AskKv | AskConfig

NAME_LIMIT = 1_024
"""Characters of a name or an address in an answer. RocketMQ allows 255, and a record holds 1,000 names."""
NAMES_LIMIT = 200_000
"""Names of one kind in an answer, as topics: more than any cluster has. An answer with more is refused."""
BROKER_NAMES_LIMIT = 20_000
"""Broker names in an answer: as many as a name server of ours allows by default. A checkpoint of more would
take minutes, and each change of a cluster is a record with all its names."""
BROKERS_LIMIT = 100_000
"""Brokers in an answer: the same."""
PROPERTIES_BYTES = 16 * 1024 * 1024
"""JSON of the properties, which are one line of the journal. They come as they are, and in JSON a control
character has six bytes."""


class ObservedAnswer(Struct, frozen=True):
    """An answer that could be read. It was true at one instant from `sent` to `received`."""

    question: Question
    value: Any
    """The answer: of `AskMembers` a `ClusterInfo`, of `AskTopics` a list of topics, of `AskRoute` a
    `TopicRouteData` or None, of `AskKv` and `AskConfig` a dict."""
    sent: Now
    """Before the request was sent."""
    received: Now
    size: int
    """Brokers, topics, rows or entries in it."""


class TooLargeError(RequestError):
    """An answer with more than any name server has."""

    def __init__(self, what: str) -> None:
        super().__init__(ResponseCode.SYSTEM_ERROR, f"its answer has {what}: is it what it seems?")


def request_of(question: Question) -> tuple[RequestCode, Mapping[str, str] | None]:
    """The code and the ext fields of the request."""
    match question:
        case AskMembers():
            return RequestCode.GET_BROKER_CLUSTER_INFO, None
        case AskTopics():
            return RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, None
        case AskRoute(topic):
            header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
            return RequestCode.GET_ROUTEINFO_BY_TOPIC, encode_header(header)
        case AskKv(namespace):
            return RequestCode.GET_KVLIST_BY_NAMESPACE, encode_header(
                GetKVListByNamespaceRequestHeader(namespace=namespace)
            )
        case AskConfig():
            return RequestCode.GET_NAMESRV_CONFIG, None


def read_answer(question: Question, answer: RemotingCommand, sent: Now, received: Now) -> ObservedAnswer:
    """Read the answer to a question.

    Raises:
        RequestError: its code is neither success nor "there is none", or it can't be read, or lacks a part.
    """
    if answer.code == _ABSENT.get(type(question)):
        value: Any = None if isinstance(question, AskRoute) else {}
        return ObservedAnswer(question, value, sent, received, 0)
    if answer.code != ResponseCode.SUCCESS:
        raise RequestError(answer.code, answer.remark or "no remark")
    value, size = _READERS[type(question)](answer.body)
    return ObservedAnswer(question, value, sent, received, size)


def _members(body: bytes) -> tuple[ClusterInfo, int]:
    raw = decode_body(body, RawClusterInfo, "ClusterInfo")
    _require(raw.broker_addr_table, "brokerAddrTable")
    _require(raw.cluster_addr_table, "clusterAddrTable")
    info = raw.to_model()
    _check_names(info.broker_addr_table, BROKER_NAMES_LIMIT)
    brokers = sum(len(broker.broker_addrs) for broker in info.broker_addr_table.values())
    if brokers > BROKERS_LIMIT:
        raise TooLargeError(f"{brokers:,} brokers, more than {BROKERS_LIMIT:,}")
    for broker in info.broker_addr_table.values():
        _check_names([broker.cluster, *broker.broker_addrs.values()])
    members = 0
    for cluster, names in info.cluster_addr_table.items():
        _check_names([cluster, *names], BROKER_NAMES_LIMIT)
        members += 1 + len(names)
    if members > BROKERS_LIMIT:
        raise TooLargeError(f"{members:,} clusters and names in them, more than {BROKERS_LIMIT:,}")
    return info, max(brokers, members - len(info.cluster_addr_table))


def _topics(body: bytes) -> tuple[list[str], int]:
    raw = decode_body(body, RawTopicList, "TopicList")
    _require(raw.topic_list, "topicList")
    topics = raw.to_model().topic_list
    _check_names(topics)
    return topics, len(topics)


def _route(body: bytes) -> tuple[TopicRouteData, int]:
    raw = decode_body(body, RawTopicRouteData, "TopicRouteData")
    _require(raw.queue_datas, "queueDatas")
    _require(raw.broker_datas, "brokerDatas")
    route = raw.to_model()
    _check_names([queues.broker_name for queues in route.queue_datas], BROKER_NAMES_LIMIT)
    return route, len(route.queue_datas)


def _kv(body: bytes) -> tuple[dict[str, str], int]:
    raw = decode_body(body, RawKVTable, "KVTable")
    _require(raw.table, "table")
    table = raw.to_model()
    _check_names(table)
    return table, len(table)


def _config(body: bytes) -> tuple[dict[str, str], int]:
    properties = read_properties_answer(body)
    _require(properties or None, "property")
    _check_names(properties)
    size = len(json.encode(properties))
    if size > PROPERTIES_BYTES:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"its properties have {size:,} bytes, more than {PROPERTIES_BYTES:,}"
        )
    return properties, len(properties)


_READERS: Mapping[type, Callable[[bytes], tuple[Any, int]]] = {
    AskMembers: _members,
    AskTopics: _topics,
    AskRoute: _route,
    AskKv: _kv,
    AskConfig: _config,
}
_ABSENT = {AskRoute: ResponseCode.TOPIC_NOT_EXIST, AskKv: ResponseCode.QUERY_NOT_FOUND}
"""Codes of answers that say that there is none."""


def _require(part: object, name: str) -> None:
    if part is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"it has no {name}: is it a name server?")


def _check_names(names: Collection[str], limit: int = NAMES_LIMIT) -> None:
    if len(names) > limit:
        raise TooLargeError(f"{len(names):,} names, more than {limit:,}")
    longest = max(map(len, names), default=0)
    if longest > NAME_LIMIT:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"a name in it has {longest:,} characters, more than {NAME_LIMIT:,}"
        )
