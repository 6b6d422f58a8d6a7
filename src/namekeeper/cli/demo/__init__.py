"""`namekeeper demo`: a small cluster lives through an incident, and what was remembered of it."""

__all__: list[str] = []
