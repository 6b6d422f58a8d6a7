"""Limits log lines that a peer can cause: it logs the first ones of a period and counts the others."""

import asyncio
import logging

from msgspec import Struct

__all__ = ["LogLimit"]

LINES = 20
"""Lines of one kind in a period: enough to see a pattern, too few to fill a disk."""
PERIOD_SECONDS = 60.0
FREQUENT_SECONDS = 3_600.0
"""Period of lines that a probe causes every few seconds for months: it has one line."""

_Kind = tuple[int, str, type[BaseException] | None, bool]
"""Level, message before its arguments are filled in, type of the error, whether it is frequent. The source
code fixes all of these, so there are few kinds."""


class _LogPeriod(Struct):
    """The lines of one kind since the start of its period."""

    ends: float = 0.0
    lines: int = 0
    held_back: int = 0


class LogLimit:
    """Lets through the first `LINES` lines of each kind in each period, and logs the number of the others.

    A kind is a level, a message and a type of error, so that one kind never silences another: a flood of
    broken frames does not hide the traceback of a bug.
    """

    __slots__ = ("_logger", "_periods")

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._periods: dict[_Kind, _LogPeriod] = {}

    def log(
        self,
        level: int,
        message: str,
        *args: object,
        error: BaseException | None = None,
        is_frequent: bool = False,
    ) -> None:
        """Log like `Logger.log`; needs a running loop.

        Args:
            level: as there.
            message: must be fixed; the variable parts belong in `args`.
            args: as there.
            error: its traceback is logged, too.
            is_frequent: whether probes cause it, so that one line in an hour has to do.
        """
        kind = (level, message, type(error) if error is not None else None, is_frequent)
        period = self._periods.get(kind)
        if period is None:
            period = self._periods[kind] = _LogPeriod()
        now = asyncio.get_running_loop().time()
        if now >= period.ends:
            if period.held_back:
                self._logger.warning("%d lines like the next one were left out", period.held_back)
            period.ends = now + (FREQUENT_SECONDS if is_frequent else PERIOD_SECONDS)
            period.lines = period.held_back = 0
        if period.lines >= (1 if is_frequent else LINES):
            period.held_back += 1
            return
        period.lines += 1
        self._logger.log(level, message, *args, exc_info=error)
