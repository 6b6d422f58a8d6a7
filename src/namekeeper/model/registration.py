"""A registration: its header and its decoded body (protocol.md 2.10, 3)."""

from msgspec import Struct, field

from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion

__all__ = ["RegisterBrokerHeader", "RegistrationBody"]


class RegisterBrokerHeader(Struct, frozen=True):
    """Header of REGISTER_BROKER, checked: every required field is there (protocol.md 2.10)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: int
    heartbeat_timeout_ms: int = 120_000
    enable_acting_master: bool | None = None
    """None when absent, which marks a 4.x broker: the three states differ (trap T36)."""
    compressed: bool = False
    body_crc32: int = 0
    zone_name: str | None = None


class RegistrationBody(Struct, frozen=True):
    """A decoded body: the topics this broker has, whatever form they came in."""

    data_version: DataVersion = DataVersion()
    topics: dict[str, QueueSpec] = field(default_factory=dict)
    """Topic name (the config's own, not the map's key) -> its queues."""
    topic_keys: frozenset[str] | None = None
    """Keys of the map where they differ from the names; None when they are the same."""
    topic_count: int = 0
    """Entries of the map: the single-topic guard counts them (protocol.md 4.4 step 8)."""
    filter_servers: tuple[str, ...] | None = ()
    """None in an old-version body, which leaves the stored ones untouched."""
    mappings: dict[str, TopicQueueMappingInfo] = field(default_factory=dict)
    """Static topics: topic -> mapping on this broker name."""
    wire_bytes: int = 0
    """Size of the body as it came."""
