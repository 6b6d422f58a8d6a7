"""The journal: every change of the tables as records in files, and the tables from them (design.md 6)."""

__all__: list[str] = []
