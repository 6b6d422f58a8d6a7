"""An instant, as two numbers: what people call it, and what durations are measured with."""

from msgspec import Struct

__all__ = ["Now"]


class Now(Struct, frozen=True, gc=False):
    """An instant: liveness and durations use `mono_ms`; `wall_ms` is for people and the wire."""

    wall_ms: int
    mono_ms: int
