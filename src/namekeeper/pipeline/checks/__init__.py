"""Checks of a warehouse: the rules, running them, and showing what they found."""

__all__: list[str] = []
