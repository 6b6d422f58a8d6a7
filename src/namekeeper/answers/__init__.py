"""Answers about the past: the route of a topic at a time, and why there was none."""

__all__: list[str] = []
