"""Headers of route lookups, and the JSON form of their answers (protocol.md 2.1, 2.2, 2.7)."""

from msgspec import Struct

__all__ = [
    "STANDARD_JSON_VERSION",
    "GetBrokerMemberGroupRequestHeader",
    "GetRouteInfoRequestHeader",
    "wants_standard_json",
]

STANDARD_JSON_VERSION = 401
"""4.9.4: the first release whose clients are sent quoted keys (protocol.md 1.9)."""


class GetRouteInfoRequestHeader(Struct, frozen=True):
    """Request 105 (protocol.md 2.1, 2.1.1)."""

    topic: str
    accept_standard_json_only: bool = False
    zone_mode: str | None = None
    zone_name: str | None = None


class GetBrokerMemberGroupRequestHeader(Struct, frozen=True):
    """Request 901 (protocol.md 2.7)."""

    cluster_name: str
    broker_name: str


def wants_standard_json(version: int, *, accept_standard_json_only: bool = False) -> bool:
    """Whether a peer gets quoted keys rather than bare numbers (protocol.md 2.1)."""
    return accept_standard_json_only or version >= STANDARD_JSON_VERSION
