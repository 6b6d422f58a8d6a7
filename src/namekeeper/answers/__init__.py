"""Answers about the past: the route of a topic at an instant, and why there was none (design.md 7)."""

__all__: list[str] = []
