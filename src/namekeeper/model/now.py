"""The current time in two clocks: wall time for people, monotonic time for durations."""

from msgspec import Struct

__all__ = ["Now"]


class Now(Struct, frozen=True, gc=False):
    """The time of a request or a timer: durations use `mono_ms`; `wall_ms` is for people and the wire."""

    wall_ms: int
    mono_ms: int
