"""Drift: what the name servers of one cluster disagree about, since when, and what to look at."""

__all__: list[str] = []
