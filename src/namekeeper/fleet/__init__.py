"""Simulated fleets of brokers: what happens to them, planned by a seed, and played on real registrars."""

__all__: list[str] = []
