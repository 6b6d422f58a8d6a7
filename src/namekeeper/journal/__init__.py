"""The journal: every change of the tables as records in files, and tables from them (docs/decisions/0011)."""

__all__: list[str] = []
