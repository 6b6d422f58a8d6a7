"""How the consumers of a group share the queues of a topic (protocol.md 7.8): Java's strategies, pure."""

__all__: list[str] = []
