"""JSON that a stranger may have written: what reading it with msgspec can raise."""

import msgspec

__all__ = ["UNREADABLE_JSON"]

UNREADABLE_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""It is torn or of another form; it has bytes that are not UTF-8; it is nested too deeply."""
