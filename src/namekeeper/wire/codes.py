"""Numbers of the remoting protocol by their Java names (protocol.md 1.5, 1.8, 2.0)."""

from enum import IntEnum
from typing import Literal, get_args

__all__ = [
    "LanguageCode",
    "LanguageName",
    "RequestCode",
    "ResponseCode",
    "SerializeType",
    "language_name",
    "version_ordinal",
]


class RequestCode(IntEnum):
    """Requests that a name server handles, and the one it sends (905)."""

    PUT_KV_CONFIG = 100
    GET_KV_CONFIG = 101
    DELETE_KV_CONFIG = 102
    REGISTER_BROKER = 103
    UNREGISTER_BROKER = 104
    GET_ROUTEINFO_BY_TOPIC = 105
    GET_BROKER_CLUSTER_INFO = 106
    WIPE_WRITE_PERM_OF_BROKER = 205
    GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
    DELETE_TOPIC_IN_NAMESRV = 216
    REGISTER_TOPIC_IN_NAMESRV = 217
    GET_KVLIST_BY_NAMESPACE = 219
    GET_TOPICS_BY_CLUSTER = 224
    GET_SYSTEM_TOPIC_LIST_FROM_NS = 304
    GET_UNIT_TOPIC_LIST = 311
    GET_HAS_UNIT_SUB_TOPIC_LIST = 312
    GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST = 313
    UPDATE_NAMESRV_CONFIG = 318
    GET_NAMESRV_CONFIG = 319
    QUERY_DATA_VERSION = 322
    ADD_WRITE_PERM_OF_BROKER = 327
    GET_BROKER_MEMBER_GROUP = 901
    BROKER_HEARTBEAT = 904
    NOTIFY_MIN_BROKER_ID_CHANGE = 905


class ResponseCode(IntEnum):
    """Codes that a name server answers with."""

    SUCCESS = 0
    SYSTEM_ERROR = 1
    SYSTEM_BUSY = 2
    REQUEST_CODE_NOT_SUPPORTED = 3
    NO_PERMISSION = 16
    TOPIC_NOT_EXIST = 17
    QUERY_NOT_FOUND = 22
    GO_AWAY = 1500


class SerializeType(IntEnum):
    """Form of a header: the top byte of the header word."""

    JSON = 0
    ROCKETMQ = 1


class LanguageCode(IntEnum):
    """Languages that peers claim to be written in."""

    JAVA = 0
    CPP = 1
    DOTNET = 2
    PYTHON = 3
    DELPHI = 4
    ERLANG = 5
    RUBY = 6
    OTHER = 7
    HTTP = 8
    GO = 9
    PHP = 10
    OMS = 11
    RUST = 12
    NODE_JS = 13


LanguageName = Literal[
    "JAVA",
    "CPP",
    "DOTNET",
    "PYTHON",
    "DELPHI",
    "ERLANG",
    "RUBY",
    "OTHER",
    "HTTP",
    "GO",
    "PHP",
    "OMS",
    "RUST",
    "NODE_JS",
]
"""Names of LanguageCode, in order. Decoding yields no others: a peer can't make up labels for our metrics."""

_LANGUAGE_NAMES: dict[int, LanguageName] = dict(enumerate(get_args(LanguageName)))


def language_name(code: int) -> LanguageName | None:
    """Name of a language byte; None for an unknown one, which is harmless."""
    return _LANGUAGE_NAMES.get(code)


def version_ordinal(release: str) -> int:
    """Ordinal that RocketMQ gives a release from 4.0.0 to 5.9.9, e.g. `5.5.0` -> 513 (protocol.md 1.9)."""
    major, minor, patch = (int(part) for part in release.split("."))
    return 213 + (major - 4) * 200 + minor * 20 + patch * 2
