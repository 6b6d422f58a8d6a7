"""Properties files and the settings of a name server; pure."""

__all__: list[str] = []
