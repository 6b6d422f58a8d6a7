"""Settings of a broker and of its registrations, with the names of Java's `BrokerConfig`."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from msgspec import field, structs

from namekeeper.config.spelled_settings import SpelledSettings
from namekeeper.errors import ConfigError
from namekeeper.model.broker import DEFAULT_HEARTBEAT_TIMEOUT_MS
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.perm import Perm
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.nsaddr import refuse_url
from namekeeper.remoting.address import parse_address
from namekeeper.remoting.credentials import find_credentials
from namekeeper.wire.command import OUR_VERSION

__all__ = ["FIVE", "MAX_PERIOD_MS", "MIN_PERIOD_MS", "BrokerSettings"]

FIVE = 413
"""5.0.0: from here on brokers follow the rules of the 5.x line (protocol.md 1.9)."""

MIN_PERIOD_MS, MAX_PERIOD_MS = 10_000, 60_000
"""Java's bounds of the registration period (protocol.md 6.2); name servers remove a broker after 120 s."""


class BrokerSettings(SpelledSettings, frozen=True, kw_only=True):
    """One broker; names and defaults are Java's of 5.5.0. Can be pickled.

    Attributes:
        broker_name: The name that a master and its slaves share.
        broker_addr: `host:port` that clients use; it identifies this broker and is never taken from a
            socket.
        cluster_name: The cluster that the broker belongs to.
        namesrv_addr: The name servers, `host:port;host:port`.
        address_server: URL of a page that lists them, asked at the start and every 2 minutes.
        broker_id: 0 is the master.
        ha_server_addr: `host:port` from which slaves replicate; name servers hand it on to them.
        zone_name: Zone of the broker (5.x); None: none.
        register_name_server_period_ms: Between the starts of two registrations; limited to 10 to 60
            seconds.
        register_broker_timeout_ms: Time limit of one name server's answer to a registration.
        unregister_broker_timeout_ms: Time limit of one name server's answer to the unregistration.
        force_register: Whether to register each time; else ask for the data version first, and register
            where it differs.
        compressed_register: Bodies as zlib streams: small, but without `topic_sys_flag` and `order`.
        enable_split_registration: Send the topics in several registrations. Use it only with name servers
            of 5.x without `deleteTopicWithBrokerRegistration`: there each part would delete the topics of
            the others.
        split_registration_size: Topics in one of them.
        broker_permission: Permission of the whole broker: a bit that is not set here is not set for any
            topic.
        filter_servers: Addresses of its filter servers (4.x).
        mappings: Static topics (5.x).
        enable_slave_acting_master: Send a heartbeat each second, so that a slave takes over within
            `broker_not_active_timeout_ms`.
        broker_heartbeat_interval_ms: Interval of heartbeats with acting masters.
        send_heartbeat_timeout_ms: Time limit of one heartbeat.
        broker_not_active_timeout_ms: With acting masters: name servers remove the broker after this time
            without a heartbeat.
        compatible_with_old_name_srv: Heartbeats that name servers before 5.0 understand too: 322 instead
            of 904.
        register_system_topics: Register the topics that a Java broker has by itself, too, such as TBW102,
            the template of topics that clients create. The fields from here to `revive_queue_num` say
            which.
        auto_create_topic_enable: Register TBW102.
        default_topic_queue_nums: Queues of TBW102.
        cluster_topic_enable: Whether the topic with the name of the cluster can be read and written.
        broker_topic_enable: Whether the topic with the name of the broker can be read and written.
        trace_topic_enable: Register the topic of message traces.
        msg_trace_topic_name: The name of the topic of message traces.
        revive_queue_num: Queues of the topic that pop consumers are revived by (5.x).
        version: The release that this broker behaves like; below 413 a 4.x one.
        access_key: Sign requests to name servers; empty: don't.
        secret_key: The key that signs; goes together with `access_key`.
        unknown: Properties of a `broker.conf` that have no field here, as they are.

    Raises:
        ConfigError: a value that can't work; the message says which and what to write.
    """

    java_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "brokerClusterName": "cluster_name",
            "brokerIP1": "broker_addr",
            "listenPort": "broker_addr",
            "brokerIP2": "ha_server_addr",
            "haListenPort": "ha_server_addr",
            "registerNameServerPeriod": "register_name_server_period_ms",
            "registerBrokerTimeoutMills": "register_broker_timeout_ms",
            "brokerHeartbeatInterval": "broker_heartbeat_interval_ms",
            "sendHeartbeatTimeoutMillis": "send_heartbeat_timeout_ms",
            "brokerNotActiveTimeoutMillis": "broker_not_active_timeout_ms",
        }
    )

    broker_name: str
    broker_addr: str
    cluster_name: str = "DefaultCluster"
    namesrv_addr: str = ""
    address_server: str | None = None
    broker_id: int = 0
    ha_server_addr: str = ""
    zone_name: str | None = None
    register_name_server_period_ms: int = 30_000
    register_broker_timeout_ms: int = 24_000
    unregister_broker_timeout_ms: int = 3_000
    force_register: bool = True
    compressed_register: bool = False
    enable_split_registration: bool = False
    split_registration_size: int = 800
    broker_permission: int = Perm.READ | Perm.WRITE
    filter_servers: tuple[str, ...] = ()
    mappings: tuple[TopicQueueMappingInfo, ...] = ()
    enable_slave_acting_master: bool = False
    broker_heartbeat_interval_ms: int = 1_000
    send_heartbeat_timeout_ms: int = 1_000
    broker_not_active_timeout_ms: int = 10_000
    compatible_with_old_name_srv: bool = True
    register_system_topics: bool = False
    auto_create_topic_enable: bool = True
    default_topic_queue_nums: int = 8
    cluster_topic_enable: bool = True
    broker_topic_enable: bool = True
    trace_topic_enable: bool = False
    msg_trace_topic_name: str = "RMQ_SYS_TRACE_TOPIC"
    revive_queue_num: int = 8
    version: int = OUR_VERSION
    access_key: str = ""
    secret_key: str = ""
    unknown: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_broker_conf(cls, path: str | os.PathLike[str], **settings: object) -> Self:
        """Read the properties file of a RocketMQ broker; blocks on the disk.

        Its system topics are registered, too, as the broker would (`register_system_topics`).

        Args:
            path: `broker.conf`, or another file with Java's properties.
            settings: fields that count instead of those of the file.

        Raises:
            ConfigError: the file can't be read, or a value can't be used.
        """
        from namekeeper.broker.broker_conf import read_broker_conf

        return cls._of({**read_broker_conf(path, cls._defaults()), **settings})

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], **settings: object) -> Self:
        """As `from_broker_conf`, from properties with Java's names that are read already."""
        from namekeeper.broker.broker_conf import settings_of_broker_conf

        return cls._of({**settings_of_broker_conf(properties, cls._defaults()), **settings})

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Self:
        return cls(**{"register_system_topics": True, **fields})

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {each.name: each.default for each in structs.fields(cls)}

    def __repr__(self) -> str:
        keys = ", signed" if self.access_key else ""
        return (
            f"BrokerSettings(broker_name={self.broker_name!r}, broker_addr={self.broker_addr!r},"
            f" cluster_name={self.cluster_name!r}, broker_id={self.broker_id}{keys})"
        )

    def __post_init__(self) -> None:
        if bool(self.access_key) != bool(self.secret_key):
            raise ConfigError("access_key and secret_key go together: give both, or none")
        for name in ("broker_name", "cluster_name"):
            if not getattr(self, name).strip():
                raise ConfigError(f"{name} is empty: a broker needs one")
        parse_address(self.broker_addr)
        refuse_url("namesrv_addr", self.namesrv_addr, "address_server")
        self._check_at_least(0, "broker_id")
        self._check_at_least(1, "register_broker_timeout_ms", "unregister_broker_timeout_ms")
        self._check_at_least(1, "broker_heartbeat_interval_ms", "send_heartbeat_timeout_ms")
        # A name server of 5.x refuses the first registration of a broker if it has one topic (trap T10).
        self._check_at_least(2, "split_registration_size")
        self._check_at_least(1, "default_topic_queue_nums", "revive_queue_num")
        if self.enable_split_registration and not self.is_five:
            raise ConfigError(
                "enable_split_registration needs a version from 413 (5.0.0) on: "
                "name servers of 4.x keep only the first part of an unchanged version"
            )

    def with_keys_from(self, environ: Mapping[str, str]) -> Self:
        """The same settings, with the keys that commands would take from an environment, if any.

        Raises:
            ConfigError: there is no secret key, or the file with the keys can't be read.
        """
        keys = find_credentials(environ)
        return self if keys is None else structs.replace(self, **structs.asdict(keys))

    @property
    def period_ms(self) -> int:
        """Time between registrations, within Java's bounds."""
        return max(MIN_PERIOD_MS, min(self.register_name_server_period_ms, MAX_PERIOD_MS))

    @property
    def is_five(self) -> bool:
        """Whether the rules are those of 5.x."""
        return self.version >= FIVE

    def header(self) -> RegisterBrokerHeader:
        """Return the header of its registrations; a 4.x broker says nothing of acting masters."""
        is_acting = self.enable_slave_acting_master and self.is_five
        return RegisterBrokerHeader(
            broker_name=self.broker_name,
            broker_addr=self.broker_addr,
            cluster_name=self.cluster_name,
            ha_server_addr=self.ha_server_addr,
            broker_id=self.broker_id,
            heartbeat_timeout_ms=(
                self.broker_not_active_timeout_ms if is_acting else DEFAULT_HEARTBEAT_TIMEOUT_MS
            ),
            enable_acting_master=self.enable_slave_acting_master if self.is_five else None,
            zone_name=self.zone_name,
        )

    def _check_at_least(self, least: int, *names: str) -> None:
        for name in names:
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be at least {least}")
