"""The key-value configuration: namespace, key, value; pure."""

__all__: list[str] = []
