"""Counts of what a fleet has done."""

from collections import Counter
from typing import Any

from msgspec import Struct, field, to_builtins

from namekeeper.broker.namesrv_session import RegisterBrokerResult

__all__ = ["FleetSummary"]


class FleetSummary(Struct):
    """Counts since the start of the fleet; they change while it runs."""

    brokers: int = 0
    """Brokers of the plan."""
    running: int = 0
    """Brokers that run now."""
    topics: int = 0
    """Topic configurations of all running brokers."""
    actions: Counter[str] = field(default_factory=Counter)
    """Name of an action -> how often it was performed."""
    failed_actions: int = 0
    """How many of them failed."""
    registrations: dict[str, int] = field(default_factory=dict)
    """Name server -> registrations it accepted."""
    failures: dict[str, int] = field(default_factory=dict)
    """Name server -> registrations that failed."""
    last_failure: str | None = None

    def count(self, result: RegisterBrokerResult) -> None:
        """Count one result of one broker at one name server."""
        table = self.registrations if result.error is None else self.failures
        table[result.namesrv_addr] = table.get(result.namesrv_addr, 0) + 1
        if result.error is not None:
            self.last_failure = str(result.error)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return dict(to_builtins(self))
