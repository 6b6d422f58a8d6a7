"""The times of records: wall clock, without its small steps back, and monotonic ms since the boot began."""

from msgspec import Struct

from namekeeper.model.now import Now

__all__ = ["STEP_MS", "ChangeTime", "Timeline"]

STEP_MS = 1_000
"""Steps of the wall clock of at least this size are recorded; after a smaller step back `ts` does not
change."""


class ChangeTime(Struct, frozen=True, gc=False):
    """The time of one change."""

    ts: int
    """Wall ms."""
    up_ms: int
    """Monotonic ms since the boot began."""
    step_ms: int = 0
    """The step of the wall clock since the time before: new minus old; 0 if there was none."""


class Timeline:
    """Gives the times of records; begins with the boot."""

    def __init__(self, begin: Now) -> None:
        self.begin_ms = begin.mono_ms
        """Monotonic ms."""
        self._last = begin
        self._last_ts = begin.wall_ms

    def at(self, now: Now) -> ChangeTime:
        """The time of a record that is made `now`; call it in order of the monotonic time."""
        step = (now.wall_ms - self._last.wall_ms) - (now.mono_ms - self._last.mono_ms)
        self._last = now
        if abs(step) < STEP_MS:
            # After small steps back `ts` stands still, unless they add up to a large one.
            behind = self._last_ts - now.wall_ms
            if behind < STEP_MS:
                self._last_ts = max(now.wall_ms, self._last_ts)
                return ChangeTime(self._last_ts, now.mono_ms - self.begin_ms)
            step = -behind
        self._last_ts = now.wall_ms
        return ChangeTime(now.wall_ms, now.mono_ms - self.begin_ms, step)
