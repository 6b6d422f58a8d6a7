"""The clusters, broker names, topics and KV namespaces that a request is about: what rules may limit."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from namekeeper.wire.codes import RequestCode as Code

__all__ = ["NAMED", "NO_NAMES", "NameKind", "Names", "names_in"]


class NameKind(StrEnum):
    """What a name stands for; the key of a rule's condition."""

    CLUSTERS = "clusters"
    BROKERS = "brokers"
    TOPICS = "topics"
    NAMESPACES = "namespaces"


_BROKER = {NameKind.CLUSTERS: "clusterName", NameKind.BROKERS: "brokerName"}
_BROKER_NAME = {NameKind.CLUSTERS: "", NameKind.BROKERS: "brokerName"}
_NAMESPACE = {NameKind.NAMESPACES: "namespace"}

NAMED: Mapping[int, Mapping[NameKind, str]] = MappingProxyType(
    {
        Code.PUT_KV_CONFIG: _NAMESPACE,
        Code.GET_KV_CONFIG: _NAMESPACE,
        Code.DELETE_KV_CONFIG: _NAMESPACE,
        Code.GET_KVLIST_BY_NAMESPACE: _NAMESPACE,
        Code.REGISTER_BROKER: _BROKER,
        Code.UNREGISTER_BROKER: _BROKER,
        Code.QUERY_DATA_VERSION: _BROKER,
        Code.BROKER_HEARTBEAT: _BROKER,
        Code.GET_BROKER_MEMBER_GROUP: _BROKER,
        Code.WIPE_WRITE_PERM_OF_BROKER: _BROKER_NAME,
        Code.ADD_WRITE_PERM_OF_BROKER: _BROKER_NAME,
        Code.GET_ROUTEINFO_BY_TOPIC: {NameKind.TOPICS: "topic"},
        Code.DELETE_TOPIC_IN_NAMESRV: {NameKind.TOPICS: "topic", NameKind.CLUSTERS: "clusterName"},
        Code.REGISTER_TOPIC_IN_NAMESRV: {
            NameKind.TOPICS: "topic",
            NameKind.CLUSTERS: "",
            NameKind.BROKERS: "",
        },
        Code.GET_TOPICS_BY_CLUSTER: {NameKind.CLUSTERS: "cluster"},
    }
)
"""Code -> kinds of names that its requests are about -> the ext field that has the name.

The field is empty if the name is in the body, or follows from another name."""


class Names(Struct, frozen=True):
    """The names of one request; an empty set says that it is not limited to any."""

    clusters: frozenset[str] = frozenset()
    brokers: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def of(self, kind: NameKind) -> frozenset[str]:
        """The names of one kind."""
        names: frozenset[str] = getattr(self, kind.value)
        return names


NO_NAMES = Names()


def names_in(code: int, ext_fields: Mapping[str, str] | None) -> Names:
    """The names that the ext fields of a request hold."""
    found = {}
    for kind, field in NAMED.get(code, {}).items():
        name = (ext_fields or {}).get(field)
        if name:
            found[kind.value] = frozenset((name,))
    return Names(**found)
