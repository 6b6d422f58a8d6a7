"""Expected state: what must be there, how name servers deviate from it, and which deviations are planned."""

__all__: list[str] = []
