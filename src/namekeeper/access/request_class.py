"""The class of each request code: what a rule allows or refuses as a whole."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from namekeeper.wire.codes import RequestCode as Code

__all__ = ["CLASSES", "HTTP", "HTTP_PAGES", "RequestClass", "codes_of"]

HTTP = "http"
"""Name of the operators' HTTP pages in rules and metrics."""
HTTP_PAGES = -1
"""Their number among request codes, as they have no code."""


class RequestClass(StrEnum):
    """A group of requests that the same people send."""

    READ = "read"
    """Changes nothing."""
    BROKER = "broker"
    """A broker speaks for itself."""
    ADMIN = "admin"
    """A person or a tool changes what the name server says."""


CLASSES: Mapping[int, RequestClass] = MappingProxyType(
    {
        Code.PUT_KV_CONFIG: RequestClass.ADMIN,
        Code.GET_KV_CONFIG: RequestClass.READ,
        Code.DELETE_KV_CONFIG: RequestClass.ADMIN,
        Code.REGISTER_BROKER: RequestClass.BROKER,
        Code.UNREGISTER_BROKER: RequestClass.BROKER,
        Code.GET_ROUTEINFO_BY_TOPIC: RequestClass.READ,
        Code.GET_BROKER_CLUSTER_INFO: RequestClass.READ,
        Code.WIPE_WRITE_PERM_OF_BROKER: RequestClass.ADMIN,
        Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: RequestClass.READ,
        Code.DELETE_TOPIC_IN_NAMESRV: RequestClass.ADMIN,
        Code.REGISTER_TOPIC_IN_NAMESRV: RequestClass.BROKER,
        Code.GET_KVLIST_BY_NAMESPACE: RequestClass.READ,
        Code.GET_TOPICS_BY_CLUSTER: RequestClass.READ,
        Code.GET_SYSTEM_TOPIC_LIST_FROM_NS: RequestClass.READ,
        Code.GET_UNIT_TOPIC_LIST: RequestClass.READ,
        Code.GET_HAS_UNIT_SUB_TOPIC_LIST: RequestClass.READ,
        Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: RequestClass.READ,
        Code.UPDATE_NAMESRV_CONFIG: RequestClass.ADMIN,
        Code.GET_NAMESRV_CONFIG: RequestClass.READ,
        Code.QUERY_DATA_VERSION: RequestClass.BROKER,
        Code.ADD_WRITE_PERM_OF_BROKER: RequestClass.ADMIN,
        Code.GET_BROKER_MEMBER_GROUP: RequestClass.BROKER,
        Code.BROKER_HEARTBEAT: RequestClass.BROKER,
    }
)
"""Every code that a name server handles; all others are answered as unknown for every peer."""


def codes_of(request_class: RequestClass) -> frozenset[int]:
    """The codes of a class."""
    return frozenset(int(code) for code, its_class in CLASSES.items() if its_class is request_class)
