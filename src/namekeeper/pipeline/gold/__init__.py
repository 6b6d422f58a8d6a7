"""From facts to gold: histories, views compared, and sums of days, all of them SQL."""

__all__: list[str] = []
