"""What each request and response carries, typed; header fields and bodies."""

__all__: list[str] = []
