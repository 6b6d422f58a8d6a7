"""Decides whether a server is live, ready or degraded, and why (docs/decisions/0019)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

__all__ = ["Health", "HealthSource", "HealthState", "Phase", "health_of"]

OK = 200
UNAVAILABLE = 503


class Phase(StrEnum):
    """The phases of a name server that listens."""

    WAITING = "waiting"
    """Listening, but `needWaitForService` holds route lookups back."""
    SERVING = "serving"
    DRAINING = "draining"
    """The server is stopping: clients get GO_AWAY."""


_NOT_READY = {
    Phase.WAITING: "needWaitForService is on: brokers get time to register",
    Phase.DRAINING: "it is stopping",
}


class HealthState(Struct, frozen=True, kw_only=True):
    """The state of a name server that decides on its health."""

    phase: Phase
    degraded: Mapping[str, str] = field(default_factory=dict)
    """Short name -> a sentence, for each present problem: the journal, missing brokers, dropped records."""
    wait_seconds_left: int | None = None
    """Seconds until the waiting phase ends."""
    is_shut: bool = False
    """Whether a degraded server can't answer any client, as without the certificate that it needs."""
    restored: str = ""
    """The rows restored from the journal at the start, or why none were."""


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
    """A source of the health of a server."""

    def __call__(self) -> HealthState:
        """Return the present health; called on the event loop."""
        ...


def health_of(state: HealthState, *, strict: bool = False) -> Health:
    """Decide whether clients should use this name server.

    A degraded server still routes, so it counts as ready unless `strict` is set, or no client can reach it.
    """
    reasons, status, ready = dict(state.degraded), "ok", True
    if state.phase is not Phase.SERVING:
        reasons, status, ready = _why(state) | reasons, state.phase.value, False
    elif reasons:
        status, ready = "degraded", not strict and not state.is_shut
    return Health(status, ready, OK if ready else UNAVAILABLE, reasons, state.restored)


def _why(state: HealthState) -> dict[str, str]:
    seconds = state.wait_seconds_left
    left = f", {seconds} s more" if state.phase is Phase.WAITING and seconds is not None else ""
    return {state.phase.value: _NOT_READY[state.phase] + left}
