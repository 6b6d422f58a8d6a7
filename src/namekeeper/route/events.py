"""Events: each holds one row of the tables as it *is now*. A change is a list of them (docs/decisions/0004).

A reader of events needs none of RocketMQ's rules: `RouteTables.apply` makes tables of them, and the journal
writes them. The log and the metrics come from them, too.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum

from msgspec import Struct

from namekeeper.model.broker import NOBODY, BrokerData, Owner
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion

__all__ = [
    "BrokerGroupChanged",
    "BrokerGroupGone",
    "BrokerHeard",
    "BrokerLiveChanged",
    "BrokerLiveGone",
    "BrokerNameRemoved",
    "Cause",
    "Change",
    "ClusterChanged",
    "ConfigChanged",
    "Event",
    "FilterServersChanged",
    "KvChanged",
    "MinBrokerIdChanged",
    "TopicMappingChanged",
    "TopicQueuesChanged",
    "TopicRow",
]


class Cause(StrEnum):
    """The reason for the present value of a row: a request, or a rule of the server."""

    REGISTER = "register_broker"
    UNREGISTER = "unregister_broker"
    HEARTBEAT = "heartbeat"
    EXPIRED = "expired"
    CHANNEL_CLOSED = "channel_closed"
    REPLACED = "replaced"
    STALE = "stale_registration"
    WIPE_WRITE_PERM = "wipe_write_perm"
    ADD_WRITE_PERM = "add_write_perm"
    DELETE_TOPIC = "delete_topic"
    REGISTER_TOPIC = "register_topic"
    PUT_KV = "put_kv_config"
    DELETE_KV = "delete_kv_config"
    UPDATE_CONFIG = "update_namesrv_config"
    RESTORED = "restored"
    """The server started with the last rows of its journal (docs/decisions/0020)."""
    OBSERVED = "observed"
    """An observer saw the change in the answers of a name server; its cause is unknown."""


class TopicRow(Struct, frozen=True, gc=False):
    """One topic of one broker name: the queues in effect, and the queues that were last registered.

    They differ after a wiped permission and while a slave acts as master. Equal rows are one object: a table
    of a million topics holds a few dozen.
    """

    effective: QueueSpec
    registered: QueueSpec


class BrokerLiveChanged(Struct, frozen=True, tag=True):
    """A live registration started a new generation, or its version, HA address or timeout changed."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: int
    ha_server_addr: str
    heartbeat_timeout_ms: int
    data_version: DataVersion
    channel_id: int
    remote_addr: str
    gen: int
    is_new: bool
    """Whether this starts a generation."""
    gap_ms: int = 0
    """The longest silence that ended since the broker's last event, in ms; 0 for a new generation."""
    body_bytes: int = 0
    """Size of the registration's body on the wire, in bytes."""
    idle_ms: int = 0
    """For a restored row or a row of a checkpoint: ms since its last refresh, at least 1; otherwise 0."""
    owner: Owner = NOBODY
    """The owner that registered it (protectBrokerNames)."""


class BrokerLiveGone(Struct, frozen=True, tag=True):
    """A live registration ended, `idle_ms` after its last refresh."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: int
    gen: int
    reason: Cause
    idle_ms: int
    heartbeat_timeout_ms: int
    closed_by: str = ""
    """After the close of its connection: a value of `ClosedBy`; otherwise empty."""


class BrokerHeard(Struct, frozen=True, tag=True):
    """A live registration was refreshed and nothing else changed: activity, not state."""

    cluster_name: str
    broker_addr: str
    gen: int
    gap_ms: int
    """The longest silence that ended since the broker's last event, in milliseconds."""
    is_registration: bool = False
    """Whether a 103 refreshed it, not a 322 or 904."""
    body_bytes: int = 0
    """Size of that registration's body on the wire, in bytes."""


class BrokerGroupChanged(Struct, frozen=True, tag=True):
    """The complete row of a broker name as it is now."""

    group: BrokerData


class BrokerGroupGone(Struct, frozen=True, tag=True):
    """A broker name lost its last member and its row."""

    broker_name: str


class ClusterChanged(Struct, frozen=True, tag=True):
    """The broker names of a cluster as they are now; an empty set means the cluster is gone."""

    cluster_name: str
    broker_names: AbstractSet[str]


class TopicQueuesChanged(Struct, frozen=True, tag=True):
    """Rows of one broker name that are new, different or gone.

    `before` and `after` are the complete immutable tables; `topics` names the rows that differ. A topic that
    `after` lacks is gone.
    """

    broker_name: str
    before: Mapping[str, TopicRow]
    after: Mapping[str, TopicRow]
    topics: tuple[str, ...]
    are_new: bool = False
    """Whether certainly no broker name had any of the topics before, so no client saw a route of them."""


class BrokerNameRemoved(Struct, frozen=True, tag=True):
    """Every topic row of this broker name is gone: the only event in bulk. Mappings have their own events."""

    broker_name: str
    before: Mapping[str, TopicRow]


class TopicMappingChanged(Struct, frozen=True, tag=True):
    """The static-topic mapping of one topic on one broker name; None when it is gone."""

    topic: str
    broker_name: str
    mapping: TopicQueueMappingInfo | None


class FilterServersChanged(Struct, frozen=True, tag=True):
    """The filter servers of one live broker; empty when it has no more."""

    cluster_name: str
    broker_addr: str
    filter_servers: tuple[str, ...]


class KvChanged(Struct, frozen=True, tag=True):
    """One entry of the KV configuration; None when it was deleted."""

    namespace: str
    key: str
    value: str | None


class ConfigChanged(Struct, frozen=True, tag=True):
    """Properties of the running configuration that have a new value."""

    properties: Mapping[str, str]


class MinBrokerIdChanged(Struct, frozen=True, tag=True):
    """A group has another smallest broker id: 905 goes to `recipients` (protocol.md 2.15)."""

    broker_name: str
    min_broker_id: int
    min_broker_addr: str
    recipients: tuple[str, ...]
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None


Event = (
    BrokerLiveChanged
    | BrokerLiveGone
    | BrokerHeard
    | BrokerGroupChanged
    | BrokerGroupGone
    | ClusterChanged
    | TopicQueuesChanged
    | BrokerNameRemoved
    | TopicMappingChanged
    | FilterServersChanged
    | KvChanged
    | ConfigChanged
    | MinBrokerIdChanged
)


class Change(Struct, frozen=True):
    """All events of one request or one rule, in order."""

    cause: Cause
    remote_addr: str | None
    """The address of the requester; None when no request asked for the change."""
    events: tuple[Event, ...]
    user: str = ""
    """User with a valid signature on the request, if access rules know the user."""
    window_ms: int = 0
    """Longest time before the change's own time at which it may have happened, in ms; 0: its time is exact.
    """

    @property
    def asked_by(self) -> str | None:
        """The requester: `host:port`, or `user@host:port`; None when no request asked for the change."""
        return f"{self.user}@{self.remote_addr}" if self.user else self.remote_addr
