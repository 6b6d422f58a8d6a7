"""Headers between brokers and name servers: register, unregister, heartbeat, versions, notifications."""

from collections.abc import Mapping

from msgspec import Struct

from namekeeper.messages.fields import EmptyStr, Int32, Int64, LaxInt32, decode_header, encode_header
from namekeeper.model.broker import DEFAULT_HEARTBEAT_TIMEOUT_MS
from namekeeper.model.registration import RegisterBrokerHeader

__all__ = [
    "BrokerHeartbeatRequestHeader",
    "NotifyMinBrokerIdChangeRequestHeader",
    "QueryDataVersionRequestHeader",
    "QueryDataVersionResponseHeader",
    "RegisterBrokerRequestHeader",
    "RegisterBrokerResponseHeader",
    "UnRegisterBrokerRequestHeader",
    "decode_register_broker_header",
    "encode_register_broker_header",
]


class RegisterBrokerRequestHeader(Struct, frozen=True):
    """Request 103 as it travels (protocol.md 2.10); the rest of the program uses RegisterBrokerHeader."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: EmptyStr
    """The server only hands it on to slaves, so a broker without replication may leave it empty."""
    broker_id: Int64
    heartbeat_timeout_millis: Int64 | None = None
    enable_acting_master: bool | None = None
    compressed: bool = False
    body_crc32: LaxInt32 = 0
    zone_name: str | None = None


class RegisterBrokerResponseHeader(Struct, frozen=True):
    """Answer to 103: the master of the group, for a slave (protocol.md 2.10)."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnRegisterBrokerRequestHeader(Struct, frozen=True):
    """Request 104 (protocol.md 2.11)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class QueryDataVersionRequestHeader(Struct, frozen=True):
    """Request 322 (protocol.md 2.8)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class QueryDataVersionResponseHeader(Struct, frozen=True):
    """Answer to 322: whether the broker has to register again."""

    changed: bool


class BrokerHeartbeatRequestHeader(Struct, frozen=True):
    """Request 904 (protocol.md 2.9); the fields after the names are for controllers."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Int64 | None = None
    epoch: Int32 | None = None
    max_offset: Int64 | None = None
    confirm_offset: Int64 | None = None
    heartbeat_timeout_mills: Int64 | None = None
    """Java's spelling."""
    election_priority: Int32 | None = None


class NotifyMinBrokerIdChangeRequestHeader(Struct, frozen=True):
    """Request 905, which the name server sends to brokers (protocol.md 2.15)."""

    min_broker_id: Int64 | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None


def decode_register_broker_header(ext_fields: Mapping[str, str] | None) -> RegisterBrokerHeader:
    """Read the header of request 103; raise RequestError for a required field that is missing or bad."""
    header = decode_header(RegisterBrokerRequestHeader, ext_fields)
    timeout_ms = header.heartbeat_timeout_millis
    return RegisterBrokerHeader(
        broker_name=header.broker_name,
        broker_addr=header.broker_addr,
        cluster_name=header.cluster_name,
        ha_server_addr=header.ha_server_addr,
        broker_id=header.broker_id,
        heartbeat_timeout_ms=DEFAULT_HEARTBEAT_TIMEOUT_MS if timeout_ms is None else timeout_ms,
        enable_acting_master=header.enable_acting_master,
        compressed=header.compressed,
        body_crc32=header.body_crc32,
        zone_name=header.zone_name,
    )


def encode_register_broker_header(header: RegisterBrokerHeader) -> dict[str, str]:
    """Return the ext fields of request 103, without the usual heartbeat timeout, as brokers do."""
    timeout_ms = header.heartbeat_timeout_ms
    return encode_header(
        RegisterBrokerRequestHeader(
            broker_name=header.broker_name,
            broker_addr=header.broker_addr,
            cluster_name=header.cluster_name,
            ha_server_addr=header.ha_server_addr,
            broker_id=header.broker_id,
            heartbeat_timeout_millis=None if timeout_ms == DEFAULT_HEARTBEAT_TIMEOUT_MS else timeout_ms,
            enable_acting_master=header.enable_acting_master,
            compressed=header.compressed,
            body_crc32=header.body_crc32,
            zone_name=header.zone_name,
        )
    )
