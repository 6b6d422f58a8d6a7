"""The mark of log lines that also go to stderr, for users who start a server manually."""

__all__ = ["ON_CONSOLE", "is_on_console"]

_MARK = "on_console"
ON_CONSOLE = {_MARK: True}
"""Given as `extra` with the line."""


def is_on_console(record: object) -> bool:
    """Whether a record of `logging` has the mark."""
    return getattr(record, _MARK, False) is True
