"""Limits log lines that a peer can cause: the first ones of a period are logged, the others counted."""

import asyncio
import logging

from msgspec import Struct

__all__ = ["LogLimit"]

LINES = 20
"""Lines of one kind in a period: enough to see a pattern, too few to fill a disk."""
PERIOD_SECONDS = 60.0

_Kind = tuple[int, str, type[BaseException] | None]
"""Level, message before its arguments are filled in, type of the error: all three are fixed by our code, so
there are few kinds."""


class _LogPeriod(Struct):
    """What was logged of one kind since its period began."""

    ends: float = 0.0
    lines: int = 0
    held_back: int = 0


class LogLimit:
    """Lets through the first `LINES` lines of each kind in each period, and says how many it held back.

    A kind is a level, a message and a type of error, so that one kind never silences another: a flood of
    broken frames leaves the traceback of a bug to be seen.
    """

    __slots__ = ("_logger", "_periods")

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._periods: dict[_Kind, _LogPeriod] = {}

    def log(self, level: int, message: str, *args: object, error: BaseException | None = None) -> None:
        """Log like `Logger.log`, with the traceback of `error` if there is one; needs a running loop.

        `message` must be fixed: what varies belongs in `args`.
        """
        kind = (level, message, type(error) if error is not None else None)
        period = self._periods.get(kind)
        if period is None:
            period = self._periods[kind] = _LogPeriod()
        now = asyncio.get_running_loop().time()
        if now >= period.ends:
            if period.held_back:
                self._logger.warning("%d lines like the next one were left out", period.held_back)
            period.ends = now + PERIOD_SECONDS
            period.lines = period.held_back = 0
        if period.lines >= LINES:
            period.held_back += 1
            return
        period.lines += 1
        self._logger.log(level, message, *args, exc_info=error)
