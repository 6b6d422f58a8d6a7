"""The broker's side: registration payloads and the registrar."""

__all__: list[str] = []
