"""Every request code of a name server in one table (protocol.md 2).

Handlers, access rules, limits of answers, metrics and the reference page are derived from it. A new code has
a number in `wire/codes.py`, an entry here, and a handler in `processor`.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from types import MappingProxyType

from msgspec import Struct

from namekeeper.messages.kv import (
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    PutKVConfigRequestHeader,
)
from namekeeper.messages.registration import (
    BrokerHeartbeatRequestHeader,
    NotifyMinBrokerIdChangeRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
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
from namekeeper.wire.codes import RequestCode, ResponseCode

__all__ = ["CATALOGUE", "OLD", "CatalogueEntry", "Handling", "NameKind", "RequestClass", "codes_handled"]

OLD = "before 4.0"
"""First release of everything that is older than Apache RocketMQ."""

_TOPIC_LIST = "TopicList JSON"
_STANDARD_FORM = "quoted keys for requests of version 401 and above, where Java always writes bare numbers"


class RequestClass(StrEnum):
    """A group of requests that the same peers send; an access rule allows or refuses it as a whole."""

    READ = "read"
    """The request changes nothing."""
    BROKER = "broker"
    """A broker sends the request about itself."""
    ADMIN = "admin"
    """A person or a tool changes the answers of the name server."""


class NameKind(StrEnum):
    """The kind of a name; the key of a rule's condition."""

    CLUSTERS = "clusters"
    BROKERS = "brokers"
    TOPICS = "topics"
    NAMESPACES = "namespaces"


class Handling(Enum):
    """The way in which the name server makes the answer to a request."""

    READ = auto()
    """At once, from the current state."""
    LARGE_READ = auto()
    """At once, from the current state; the answer can have megabytes, so the request waits for room."""
    LIST = auto()
    """Incrementally, from every topic or broker; the answer can have megabytes, so a connection gets one list
    at a time."""
    CHANGE = auto()
    """By a change of the state, if only of the time of a heartbeat."""
    SENT = auto()
    """Not at all: the name server sends this request."""


class CatalogueEntry(Struct, frozen=True):
    """The headers, bodies and handling of one request code, and its differences from Java 5.5.0."""

    code: RequestCode
    meaning: str
    """The purpose, in one line."""
    request_class: RequestClass | None
    """None if the name server sends the request."""
    handling: Handling
    request_header: type[Struct] | None = None
    request_body: str | None = None
    response_header: type[Struct] | None = None
    """The ext fields are there, without the fields that have no value (protocol.md 1.3)."""
    response_body: str | None = None
    since: str = OLD
    """First release of RocketMQ that has it."""
    difference: str | None = None
    """The deliberate difference from Java; None if there is none."""
    names: Mapping[NameKind, str] = MappingProxyType({})
    """The names in the request, which rules can limit: kind -> the ext field with the name. The field is
    empty if the name is in the body, or follows from another name."""
    optional: frozenset[str] = frozenset()
    """Fields of the request header that have no default and may be missing all the same."""
    absent: ResponseCode | None = None
    """The answer if nothing has the requested name; None if the request has no name."""
    takes_over: bool = False
    """Whether it can replace or end a live broker of another host."""
    is_routine: bool = False
    """Whether brokers and clients send it all the time: the server shows its durations from the start."""

    @property
    def name(self) -> str:
        """Name of the code in Java's RequestCode."""
        return self.code.name


_BROKER = MappingProxyType({NameKind.CLUSTERS: "clusterName", NameKind.BROKERS: "brokerName"})
_BROKER_NAME = MappingProxyType({NameKind.CLUSTERS: "", NameKind.BROKERS: "brokerName"})
_NAMESPACE = MappingProxyType({NameKind.NAMESPACES: "namespace"})
_TOPIC = MappingProxyType({NameKind.TOPICS: "topic"})

_ENTRIES = (
    CatalogueEntry(
        RequestCode.PUT_KV_CONFIG,
        "store one entry of the KV configuration",
        RequestClass.ADMIN,
        Handling.CHANGE,
        PutKVConfigRequestHeader,
        names=_NAMESPACE,
    ),
    CatalogueEntry(
        RequestCode.GET_KV_CONFIG,
        "read one entry of the KV configuration",
        RequestClass.READ,
        Handling.READ,
        GetKVConfigRequestHeader,
        response_header=GetKVConfigResponseHeader,
        names=_NAMESPACE,
        absent=ResponseCode.QUERY_NOT_FOUND,
    ),
    CatalogueEntry(
        RequestCode.DELETE_KV_CONFIG,
        "delete one entry of the KV configuration",
        RequestClass.ADMIN,
        Handling.CHANGE,
        DeleteKVConfigRequestHeader,
        names=_NAMESPACE,
    ),
    CatalogueEntry(
        RequestCode.REGISTER_BROKER,
        "register a broker: its name, its address and its topics",
        RequestClass.BROKER,
        Handling.CHANGE,
        RegisterBrokerRequestHeader,
        "topics as JSON or as a zlib stream",
        RegisterBrokerResponseHeader,
        "KVTable JSON of ORDER_TOPIC_CONFIG, or none",
        difference="an address has one name and one id; a registration is atomic",
        names=_BROKER,
        takes_over=True,
        is_routine=True,
    ),
    CatalogueEntry(
        RequestCode.UNREGISTER_BROKER,
        "unregister a broker",
        RequestClass.BROKER,
        Handling.CHANGE,
        UnRegisterBrokerRequestHeader,
        difference="the answer comes after the removal; a newer registration makes the request void",
        names=_BROKER,
        takes_over=True,
        is_routine=True,
    ),
    CatalogueEntry(
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        "where the queues of a topic are",
        RequestClass.READ,
        Handling.READ,
        GetRouteInfoRequestHeader,
        response_body="TopicRouteData JSON",
        difference="the legacy form has topicSynFlag beside topicSysFlag",
        names=_TOPIC,
        optional=frozenset({"topic"}),  # without it: code 17, as in Java
        absent=ResponseCode.TOPIC_NOT_EXIST,
        is_routine=True,
    ),
    CatalogueEntry(
        RequestCode.GET_BROKER_CLUSTER_INFO,
        "every cluster and broker",
        RequestClass.READ,
        Handling.LIST,
        response_body="ClusterInfo JSON",
        difference=_STANDARD_FORM,
    ),
    CatalogueEntry(
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        "remove the write permission of a broker name",
        RequestClass.ADMIN,
        Handling.CHANGE,
        WipeWritePermOfBrokerRequestHeader,
        response_header=WipeWritePermOfBrokerResponseHeader,
        names=_BROKER_NAME,
    ),
    CatalogueEntry(
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        "every topic",
        RequestClass.READ,
        Handling.LIST,
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        "delete a topic, everywhere or in one cluster",
        RequestClass.ADMIN,
        Handling.CHANGE,
        DeleteTopicFromNamesrvRequestHeader,
        names=MappingProxyType({NameKind.TOPICS: "topic", NameKind.CLUSTERS: "clusterName"}),
    ),
    CatalogueEntry(
        RequestCode.REGISTER_TOPIC_IN_NAMESRV,
        "add the queues of one topic",
        RequestClass.BROKER,
        Handling.CHANGE,
        RegisterTopicRequestHeader,
        "TopicRouteData JSON, of which queueDatas counts",
        since="5.0.0",
        names=MappingProxyType({NameKind.TOPICS: "topic", NameKind.CLUSTERS: "", NameKind.BROKERS: ""}),
    ),
    CatalogueEntry(
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        "every entry of one namespace of the KV configuration",
        RequestClass.READ,
        Handling.LARGE_READ,
        GetKVListByNamespaceRequestHeader,
        response_body="KVTable JSON",
        names=_NAMESPACE,
        absent=ResponseCode.QUERY_NOT_FOUND,
    ),
    CatalogueEntry(
        RequestCode.GET_TOPICS_BY_CLUSTER,
        "the topics of a cluster",
        RequestClass.READ,
        Handling.LIST,
        GetTopicsByClusterRequestHeader,
        response_body=_TOPIC_LIST,
        names=MappingProxyType({NameKind.CLUSTERS: "cluster"}),
    ),
    CatalogueEntry(
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        "names of clusters and brokers, and the address of a broker with the system topics",
        RequestClass.READ,
        Handling.LARGE_READ,
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.GET_UNIT_TOPIC_LIST,
        "topics with the unit flag",
        RequestClass.READ,
        Handling.LIST,
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        "topics with the unit subscription flag",
        RequestClass.READ,
        Handling.LIST,
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        "topics with the unit subscription flag and without the unit flag",
        RequestClass.READ,
        Handling.LIST,
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.UPDATE_NAMESRV_CONFIG,
        "change the name server's configuration",
        RequestClass.ADMIN,
        Handling.CHANGE,
        request_body="properties text",
        difference="the server answers code 16 unless the operator allows the request",
    ),
    CatalogueEntry(
        RequestCode.GET_NAMESRV_CONFIG,
        "the name server's configuration",
        RequestClass.READ,
        Handling.READ,
        response_body="properties text",
    ),
    CatalogueEntry(
        RequestCode.QUERY_DATA_VERSION,
        "whether a broker has to register again; also a heartbeat",
        RequestClass.BROKER,
        Handling.CHANGE,
        QueryDataVersionRequestHeader,
        "DataVersion JSON",
        QueryDataVersionResponseHeader,
        "DataVersion JSON, or none",
        names=_BROKER,
        is_routine=True,
    ),
    CatalogueEntry(
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        "give the write permission of a broker name back",
        RequestClass.ADMIN,
        Handling.CHANGE,
        AddWritePermOfBrokerRequestHeader,
        response_header=AddWritePermOfBrokerResponseHeader,
        since="4.9.2",
        names=_BROKER_NAME,
    ),
    CatalogueEntry(
        RequestCode.GET_BROKER_MEMBER_GROUP,
        "the members of one broker name",
        RequestClass.BROKER,
        Handling.READ,
        GetBrokerMemberGroupRequestHeader,
        response_body="BrokerMemberGroup JSON",
        since="5.0.0",
        difference=_STANDARD_FORM,
        names=_BROKER,
    ),
    CatalogueEntry(
        RequestCode.BROKER_HEARTBEAT,
        "a heartbeat, one-way",
        RequestClass.BROKER,
        Handling.CHANGE,
        BrokerHeartbeatRequestHeader,
        since="5.0.0",
        names=_BROKER,
        is_routine=True,
    ),
    CatalogueEntry(
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
        "notify a broker of a new smallest broker id of its name",
        None,
        Handling.SENT,
        NotifyMinBrokerIdChangeRequestHeader,
        since="5.0.0",
    ),
)

CATALOGUE = MappingProxyType({int(entry.code): entry for entry in _ENTRIES})
"""Request code -> its entry, in order of the code."""


def codes_handled(*handlings: Handling) -> frozenset[int]:
    """The codes whose answers are made in one of these ways."""
    return frozenset(code for code, entry in CATALOGUE.items() if entry.handling in handlings)
