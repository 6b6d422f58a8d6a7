"""The warehouse: its tables, what is valid of them, and one run at a time."""

__all__: list[str] = []
