"""Brokers: a name shared by a master and its slaves, and the addresses behind it."""

from msgspec import Struct, field

__all__ = ["DEFAULT_HEARTBEAT_TIMEOUT_MS", "MASTER_ID", "BrokerData", "BrokerKey"]

MASTER_ID = 0
"""The broker id of a master; slaves have larger ones."""

DEFAULT_HEARTBEAT_TIMEOUT_MS = 120_000
"""A registration expires after this time without a refresh, unless the broker asks for another."""

BrokerKey = tuple[str, str]
"""(cluster name, broker address): identifies a live registration (protocol.md 4.1)."""


class BrokerData(Struct, frozen=True, rename="camel"):
    """One broker name with its members (protocol.md 2.1); a change makes a new value."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    enable_acting_master: bool = False
    zone_name: str | None = None
