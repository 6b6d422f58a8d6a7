"""The client's side: from a name server's answer to routes and queues."""

__all__: list[str] = []
