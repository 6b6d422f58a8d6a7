"""Log lines that a peer can cause, bounded: the first few of a period, then how many were left out."""

import asyncio
import logging

__all__ = ["LogLimit"]

LINES = 20
"""Lines of one kind in a period: enough to see a pattern, too few to fill a disk."""
PERIOD_SECONDS = 60.0


class LogLimit:
    """Lets through the first `LINES` lines of each period and says how many it held back."""

    __slots__ = ("_held_back", "_lines", "_logger", "_period_ends")

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._lines = 0
        self._held_back = 0
        self._period_ends = 0.0

    def log(self, level: int, message: str, *args: object, error: BaseException | None = None) -> None:
        """Log like `Logger.log`, with the traceback of `error` if there is one; needs a running loop."""
        now = asyncio.get_running_loop().time()
        if now >= self._period_ends:
            if self._held_back:
                self._logger.warning("%d lines like the next one were left out", self._held_back)
            self._period_ends = now + PERIOD_SECONDS
            self._lines = self._held_back = 0
        if self._lines >= LINES:
            self._held_back += 1
            return
        self._lines += 1
        self._logger.log(level, message, *args, exc_info=error)
