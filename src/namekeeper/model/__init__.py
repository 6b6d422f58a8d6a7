"""Values that every layer shares: brokers, topics, routes, versions, time."""

__all__: list[str] = []
