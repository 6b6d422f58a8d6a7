"""Brokers: a name shared by a master and its slaves, and the addresses behind it."""

from msgspec import Struct, field

__all__ = ["DEFAULT_HEARTBEAT_TIMEOUT_MS", "MASTER_ID", "NOBODY", "BrokerData", "BrokerKey", "Owner"]

MASTER_ID = 0
"""The broker id of a master; slaves have larger ones."""

DEFAULT_HEARTBEAT_TIMEOUT_MS = 120_000
"""A registration expires after this time without a refresh, unless the broker asks for another."""

BrokerKey = tuple[str, str]
"""(cluster name, broker address): identifies a live registration (protocol.md 4.1)."""


class Owner(Struct, frozen=True):
    """The peer that registered a broker, as far as its connection and its request prove it."""

    host: str = ""
    user: str = ""
    """The user whose signature the registration had; empty: none that access rules know."""
    certificate: str = ""
    """The first name in the client certificate that TLS verified; empty: none."""

    def may_be(self, other: "Owner") -> bool:
        """Whether another peer has the same host, user or certificate; an unknown one is never the same."""
        return any(
            mine and mine == theirs
            for mine, theirs in (
                (self.host, other.host), (self.user, other.user), (self.certificate, other.certificate)
            )
        )  # fmt: skip


NOBODY = Owner()
"""Nothing is known: a row that an older release restored and recorded."""


class BrokerData(Struct, frozen=True, rename="camel"):
    """One broker name with its members (protocol.md 2.1); a change makes a new value."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    enable_acting_master: bool = False
    zone_name: str | None = None
