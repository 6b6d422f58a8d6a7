"""The mark of log lines that whoever starts a server by hand shall see: they go to stderr, too."""

__all__ = ["ON_CONSOLE", "is_on_console"]

_MARK = "on_console"
ON_CONSOLE = {_MARK: True}
"""Given as `extra` with the line."""


def is_on_console(record: object) -> bool:
    """Whether a record of `logging` has the mark."""
    return getattr(record, _MARK, False) is True
