"""Live, ready, degraded, and why: a function of what a server knows of itself (docs/decisions/0019)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

__all__ = ["Health", "HealthSource", "HealthState", "Phase", "health_of"]

OK = 200
UNAVAILABLE = 503


class Phase(StrEnum):
    """What a name server that listens does."""

    WAITING = "waiting"
    """Listening, but `needWaitForService` holds route look-ups back."""
    SERVING = "serving"
    DRAINING = "draining"
    """Going away: clients are asked to go elsewhere."""


_NOT_READY = {
    Phase.WAITING: "needWaitForService is on: brokers get time to register",
    Phase.DRAINING: "it is stopping",
}


class HealthState(Struct, frozen=True, kw_only=True):
    """What a name server knows about itself."""

    phase: Phase
    degraded: Mapping[str, str] = field(default_factory=dict)
    """Short name -> a sentence, for each thing that is wrong while it serves: the journal, brokers that are
    missing, records that were dropped."""
    wait_seconds_left: int | None = None
    """How much longer it waits, in that phase."""
    restored: str = ""
    """What came back from the journal at the start, or why nothing did."""


class Health(Struct, frozen=True):
    """The answer to "should clients use it?"."""

    status: str
    """The phase; `ok` or `degraded` while it serves."""
    ready: bool
    http_status: int
    reasons: dict[str, str]
    restored: str = ""
    """As in `HealthState`."""


class HealthSource(Protocol):
    """Something that can be asked how it is."""

    def __call__(self) -> HealthState:
        """Read it, on the event loop."""
        ...


def health_of(state: HealthState, *, strict: bool = False) -> Health:
    """Say whether clients should use this name server.

    One that routes is never taken out of service by what is merely degraded, unless `strict` asks for it.
    """
    reasons, status, ready = dict(state.degraded), "ok", True
    if state.phase is not Phase.SERVING:
        reasons, status, ready = _why(state) | reasons, state.phase.value, False
    elif reasons:
        status, ready = "degraded", not strict
    return Health(status, ready, OK if ready else UNAVAILABLE, reasons, state.restored)


def _why(state: HealthState) -> dict[str, str]:
    seconds = state.wait_seconds_left
    left = f", {seconds} s more" if state.phase is Phase.WAITING and seconds is not None else ""
    return {state.phase.value: _NOT_READY[state.phase] + left}
