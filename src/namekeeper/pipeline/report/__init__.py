"""The report on a warehouse: its questions, the report as a value, and its text, JSON and HTML."""

__all__: list[str] = []
