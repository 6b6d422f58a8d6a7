"""The history of a name server: typed rows, their versions, and the periods in which they were valid."""

__all__: list[str] = []
