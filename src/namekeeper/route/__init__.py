"""The route tables and their rules; pure: time comes in, events come out."""

__all__: list[str] = []
