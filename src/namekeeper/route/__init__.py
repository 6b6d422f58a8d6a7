"""The route tables and their rules; pure: the caller passes the time, the functions return events."""

__all__: list[str] = []
