"""From segments of journals to rows of the fact tables, each record once."""

__all__: list[str] = []
