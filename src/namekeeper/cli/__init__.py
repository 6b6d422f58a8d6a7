"""The commands people type."""

__all__: list[str] = []
