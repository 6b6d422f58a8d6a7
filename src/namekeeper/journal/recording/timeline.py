"""The time that records have: wall clock held or followed when it steps, and milliseconds since the boot."""

from msgspec import Struct

from namekeeper.model.now import Now

__all__ = ["STEP_MS", "ChangeTime", "Timeline"]

STEP_MS = 1_000
"""Steps from here on are written down; smaller ones backwards are held, so that times stay in order."""


class ChangeTime(Struct, frozen=True, gc=False):
    """The time of one change."""

    ts: int
    """Wall ms."""
    up_ms: int
    """Monotonic ms since the boot began."""
    step_ms: int = 0
    """What the wall clock did since the instant before, if that was a step: new minus old."""


class Timeline:
    """Turns instants into the times of records; begins at the boot."""

    def __init__(self, begin: Now) -> None:
        self._begin_ms = begin.mono_ms
        self._last = begin
        self._last_ts = begin.wall_ms

    def at(self, now: Now) -> ChangeTime:
        """The time of what happens at `now`; instants come in order of their monotonic time."""
        step = (now.wall_ms - self._last.wall_ms) - (now.mono_ms - self._last.mono_ms)
        self._last = now
        if abs(step) < STEP_MS:
            # Small steps back are held until the wall clock has caught up, unless they add up to a large one.
            behind = self._last_ts - now.wall_ms
            if behind < STEP_MS:
                self._last_ts = max(now.wall_ms, self._last_ts)
                return ChangeTime(self._last_ts, now.mono_ms - self._begin_ms)
            step = -behind
        self._last_ts = now.wall_ms
        return ChangeTime(now.wall_ms, now.mono_ms - self._begin_ms, step)
