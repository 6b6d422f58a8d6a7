"""Administrative actions on name servers as typed coroutines."""

__all__: list[str] = []
