"""JSON that a stranger may have written: what reading it with msgspec can raise."""

import msgspec

__all__ = ["UNREADABLE_JSON"]

UNREADABLE_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of JSON that is torn or of another form, has bytes that are not UTF-8, or is nested too deeply."""
