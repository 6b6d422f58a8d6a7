"""Answers from a warehouse: about a topic at a time, and over days."""

__all__: list[str] = []
