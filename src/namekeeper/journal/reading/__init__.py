"""Reads a journal: its lines, the state at an instant, what is known of a time, what is lost."""

__all__: list[str] = []
