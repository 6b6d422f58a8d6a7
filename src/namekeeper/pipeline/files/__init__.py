"""Folders by their URI: of this machine, or of any file system that pyarrow knows."""

__all__: list[str] = []
