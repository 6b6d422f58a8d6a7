"""Every request code of a name server in one table (protocol.md 2): documents and tests are made from it."""

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
from namekeeper.wire.codes import RequestCode

__all__ = ["CATALOGUE", "OLD", "CatalogueEntry"]

OLD = "before 4.0"
"""First release of everything that is older than Apache RocketMQ."""

_TOPIC_LIST = "TopicList JSON"
_STANDARD_FORM = "quoted keys for requests of version 401 and above, where Java always writes bare numbers"


class CatalogueEntry(Struct, frozen=True):
    """What one request code sends and gets, and how we differ from Java 5.5.0."""

    code: RequestCode
    meaning: str
    """The purpose, in one line."""
    request_header: type[Struct] | None = None
    request_body: str | None = None
    response_header: type[Struct] | None = None
    """Its fields are absent where they have no value, but the ext fields are there (protocol.md 1.3)."""
    response_body: str | None = None
    since: str = OLD
    """First release of RocketMQ that has it."""
    difference: str | None = None
    """What we deliberately do differently from Java; None if nothing."""
    is_sent: bool = False
    """Whether the name server sends this rather than answers it."""

    @property
    def name(self) -> str:
        """Name of the code in Java's RequestCode."""
        return self.code.name


_ENTRIES = (
    CatalogueEntry(
        RequestCode.PUT_KV_CONFIG,
        "store one entry of the KV configuration",
        PutKVConfigRequestHeader,
    ),
    CatalogueEntry(
        RequestCode.GET_KV_CONFIG,
        "read one entry of the KV configuration",
        GetKVConfigRequestHeader,
        response_header=GetKVConfigResponseHeader,
    ),
    CatalogueEntry(
        RequestCode.DELETE_KV_CONFIG,
        "delete one entry of the KV configuration",
        DeleteKVConfigRequestHeader,
    ),
    CatalogueEntry(
        RequestCode.REGISTER_BROKER,
        "a broker says who and where it is and which topics it has",
        RegisterBrokerRequestHeader,
        "topics as JSON or as a zlib stream",
        RegisterBrokerResponseHeader,
        "KVTable JSON of ORDER_TOPIC_CONFIG, or none",
        difference="an address has one name and one id; all of a registration takes effect, or nothing",
    ),
    CatalogueEntry(
        RequestCode.UNREGISTER_BROKER,
        "a broker leaves",
        UnRegisterBrokerRequestHeader,
        difference="answered when it is done; one that a newer registration has overtaken is ignored",
    ),
    CatalogueEntry(
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        "where the queues of a topic are",
        GetRouteInfoRequestHeader,
        response_body="TopicRouteData JSON",
        difference="the legacy form has topicSynFlag beside topicSysFlag",
    ),
    CatalogueEntry(
        RequestCode.GET_BROKER_CLUSTER_INFO,
        "every cluster and broker",
        response_body="ClusterInfo JSON",
        difference=_STANDARD_FORM,
    ),
    CatalogueEntry(
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        "take a broker name out of writing",
        WipeWritePermOfBrokerRequestHeader,
        response_header=WipeWritePermOfBrokerResponseHeader,
    ),
    CatalogueEntry(
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        "every topic",
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        "forget a topic, everywhere or in one cluster",
        DeleteTopicFromNamesrvRequestHeader,
    ),
    CatalogueEntry(
        RequestCode.REGISTER_TOPIC_IN_NAMESRV,
        "add the queues of one topic",
        RegisterTopicRequestHeader,
        "TopicRouteData JSON, of which queueDatas counts",
        since="5.0.0",
    ),
    CatalogueEntry(
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        "every entry of one namespace of the KV configuration",
        GetKVListByNamespaceRequestHeader,
        response_body="KVTable JSON",
    ),
    CatalogueEntry(
        RequestCode.GET_TOPICS_BY_CLUSTER,
        "the topics of a cluster",
        GetTopicsByClusterRequestHeader,
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        "names of clusters and brokers, and a broker to ask for its system topics",
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.GET_UNIT_TOPIC_LIST,
        "topics with the unit flag",
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        "topics with the unit subscription flag",
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        "topics with the unit subscription flag and without the unit flag",
        response_body=_TOPIC_LIST,
    ),
    CatalogueEntry(
        RequestCode.UPDATE_NAMESRV_CONFIG,
        "change the name server's configuration",
        request_body="properties text",
        difference="refused with code 16 unless the operator allows it",
    ),
    CatalogueEntry(
        RequestCode.GET_NAMESRV_CONFIG,
        "the name server's configuration",
        response_body="properties text",
    ),
    CatalogueEntry(
        RequestCode.QUERY_DATA_VERSION,
        "whether a broker has to register again; also a heartbeat",
        QueryDataVersionRequestHeader,
        "DataVersion JSON",
        QueryDataVersionResponseHeader,
        "DataVersion JSON, or none",
    ),
    CatalogueEntry(
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        "let a broker name be written to again",
        AddWritePermOfBrokerRequestHeader,
        response_header=AddWritePermOfBrokerResponseHeader,
        since="4.9.2",
    ),
    CatalogueEntry(
        RequestCode.GET_BROKER_MEMBER_GROUP,
        "the members of one broker name",
        GetBrokerMemberGroupRequestHeader,
        response_body="BrokerMemberGroup JSON",
        since="5.0.0",
        difference=_STANDARD_FORM,
    ),
    CatalogueEntry(
        RequestCode.BROKER_HEARTBEAT,
        "a heartbeat, one-way",
        BrokerHeartbeatRequestHeader,
        since="5.0.0",
    ),
    CatalogueEntry(
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
        "tell a broker that the smallest broker id of its name is another one",
        NotifyMinBrokerIdChangeRequestHeader,
        since="5.0.0",
        is_sent=True,
    ),
)

CATALOGUE = MappingProxyType({int(entry.code): entry for entry in _ENTRIES})
"""Request code -> what it is, in order of the code."""
