"""The warehouse: its tables, their valid versions, and the lock for one run at a time."""

__all__: list[str] = []
