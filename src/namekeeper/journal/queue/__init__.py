"""The bounded queue between the event loop and the writer's thread."""

__all__: list[str] = []
