"""The version that a broker gives its topic configuration (protocol.md 3.3)."""

from msgspec import Struct

__all__ = ["DataVersion"]


class DataVersion(Struct, frozen=True, gc=False, rename="camel"):
    """Versions are equal or not; only `state_version` has an order (protocol.md 4.4 step 7).

    A missing member is 0, never the time of decoding (trap T17).
    """

    counter: int = 0
    state_version: int = 0
    timestamp: int = 0
    """Milliseconds since 1970 at the broker, when its configuration last changed."""
