"""Reads a journal: its lines, the state at an instant, known and unknown times, losses."""

__all__: list[str] = []
