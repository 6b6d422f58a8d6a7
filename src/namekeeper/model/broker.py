"""Brokers: a name shared by a master and its slaves, and the addresses behind it."""

from msgspec import Struct, field

__all__ = ["DEFAULT_HEARTBEAT_TIMEOUT_MS", "MASTER_ID", "BrokerData", "BrokerKey"]

MASTER_ID = 0
"""The broker id of a master; slaves have larger ones."""

DEFAULT_HEARTBEAT_TIMEOUT_MS = 120_000
"""How long a registration lives without being refreshed, unless the broker asks otherwise."""

BrokerKey = tuple[str, str]
"""(cluster name, broker address): what identifies one live broker process (protocol.md 4.1)."""


class BrokerData(Struct, frozen=True, rename="camel"):
    """One broker name with its members (protocol.md 2.1); never changed in place, always replaced."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    enable_acting_master: bool = False
    zone_name: str | None = None
