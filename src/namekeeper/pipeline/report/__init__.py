"""The report on a warehouse: asked, made a value, and shown as text, JSON or a page."""

__all__: list[str] = []
