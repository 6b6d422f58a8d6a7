"""A command in, an outcome out: one handler for each request code; no sockets, no clock."""

__all__: list[str] = []
