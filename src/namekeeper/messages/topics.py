"""Headers of requests about topics and write permissions (protocol.md 2.4, 2.5, 2.6, 2.12)."""

from msgspec import Struct

from namekeeper.messages.fields import Int32

__all__ = [
    "AddWritePermOfBrokerRequestHeader",
    "AddWritePermOfBrokerResponseHeader",
    "DeleteTopicFromNamesrvRequestHeader",
    "GetTopicsByClusterRequestHeader",
    "RegisterTopicRequestHeader",
    "WipeWritePermOfBrokerRequestHeader",
    "WipeWritePermOfBrokerResponseHeader",
]


class WipeWritePermOfBrokerRequestHeader(Struct, frozen=True):
    """Request 205 (protocol.md 2.4)."""

    broker_name: str


class WipeWritePermOfBrokerResponseHeader(Struct, frozen=True):
    """Answer to 205: the number of topics of this broker name."""

    wipe_topic_count: Int32


class AddWritePermOfBrokerRequestHeader(Struct, frozen=True):
    """Request 327 (protocol.md 2.4)."""

    broker_name: str


class AddWritePermOfBrokerResponseHeader(Struct, frozen=True):
    """Answer to 327: the number of topics of this broker name."""

    add_topic_count: Int32


class DeleteTopicFromNamesrvRequestHeader(Struct, frozen=True):
    """Request 216 (protocol.md 2.6); without a cluster the topic goes everywhere."""

    topic: str
    cluster_name: str | None = None


class RegisterTopicRequestHeader(Struct, frozen=True):
    """Request 217 (protocol.md 2.12)."""

    topic: str


class GetTopicsByClusterRequestHeader(Struct, frozen=True):
    """Request 224 (protocol.md 2.5); the field is not called clusterName here."""

    cluster: str
