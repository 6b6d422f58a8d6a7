"""Answers questions of assistants by the Model Context Protocol: the answers of the commands, read only."""

__all__: list[str] = []
