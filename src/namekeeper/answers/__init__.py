"""Answers about the past: the route of a topic at an instant, and why there was none."""

__all__: list[str] = []
