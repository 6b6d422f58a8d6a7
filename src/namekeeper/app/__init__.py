"""A running name server: builds the object graph, starts and stops it in order."""

__all__: list[str] = []
