"""A file in a folder, as a listing has it."""

from typing import NamedTuple

__all__ = ["File"]


class File(NamedTuple):
    """A file in a folder."""

    path: str
    """Below the folder, with `/`."""
    size: int | None = None
    """Bytes; None: not asked for."""
    modified_ms: int | None = None
    """When it was last changed, ms since 1970; None: not asked for, or not known."""
