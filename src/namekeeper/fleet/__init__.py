"""Simulated fleets of brokers: a seed gives the plan of events, which real registrars perform."""

__all__: list[str] = []
