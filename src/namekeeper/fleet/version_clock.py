"""The clock of a fleet's data versions: it stands still while one action is performed.

So brokers that get the same topic in one action have the same version, and send the same bytes.
"""

from namekeeper.clock import Clock
from namekeeper.model.now import Now

__all__ = ["VersionClock"]


class VersionClock:
    """Gives the time of the last `stamp`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now = clock.now()

    def now(self) -> Now:
        """Return the time of the last `stamp`."""
        return self._now

    def stamp(self) -> None:
        """Take the current time."""
        self._now = self._clock.now()
