"""HTTP for operators: metrics, health, the address server."""

__all__: list[str] = []
