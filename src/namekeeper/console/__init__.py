"""The page for operators: what name servers hold, held and disagreed about, in a browser."""

__all__: list[str] = []
