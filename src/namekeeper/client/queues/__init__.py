"""Queues of a topic: from its route, for producers to choose from and for consumers to share."""

__all__: list[str] = []
