"""The clock of a fleet's data versions: it stands still while one thing happens.

So brokers that get the same topic have the same version, and send the same bytes.
"""

from namekeeper.clock import Clock
from namekeeper.model.now import Now

__all__ = ["VersionClock"]


class VersionClock:
    """Says what time it was when `stamp` was called last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now = clock.now()

    def now(self) -> Now:
        """That instant."""
        return self._now

    def stamp(self) -> None:
        """Take the time of now."""
        self._now = self._clock.now()
