"""One module for each section of the report: what it asks, what it says, and what its plot shows."""

__all__: list[str] = []
