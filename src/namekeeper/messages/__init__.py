"""Typed header fields and bodies of each request and response."""

__all__: list[str] = []
