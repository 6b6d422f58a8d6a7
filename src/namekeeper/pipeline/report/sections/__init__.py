"""One module for each section of the report: its questions, its text, and its plot."""

__all__: list[str] = []
