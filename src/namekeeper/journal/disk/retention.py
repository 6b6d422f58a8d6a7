"""Which segments may go: the oldest, by total size and by age, but never what a replay has to begin with."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from namekeeper.journal.settings import DAY_MS, Limits

__all__ = ["AgePause", "Plan", "Sealed", "plan_deletion"]

_LARGE_STEP_MS = 3_600_000
"""Clocks that were wrong step by hours or years; a minute says nothing about a month."""
_LARGE_GAP_MS = DAY_MS
"""A name server that was away for longer may also have come back with a wrong clock."""
_PAUSE_MS = DAY_MS
"""Time to notice a wrong clock and set it."""


class Sealed(Struct, frozen=True):
    """A sealed segment."""

    place: tuple[int, int]
    """Boot and first seq."""
    file: str
    size: int


class Plan(Struct, frozen=True):
    """What to do."""

    segment: Sealed | None = None
    """The one to delete now, if any: one at a time, so that a crash leaves no hole."""
    reason: str = ""
    """`size` or `age`."""
    needs_checkpoint: bool = False
    """Whether a segment has to go that the newest complete checkpoint needs: write a new one first."""


class AgePause:
    """Says when the wall clock can't be trusted to tell how old something is."""

    def __init__(self) -> None:
        self._until_ms = 0

    def note_step(self, step_ms: int, mono_ms: int) -> None:
        """The wall clock made a step."""
        if abs(step_ms) >= _LARGE_STEP_MS:
            self._until_ms = mono_ms + _PAUSE_MS

    def note_start(self, *, newest_ts: int, wall_ms: int, mono_ms: int) -> None:
        """A boot began at `wall_ms` in a folder whose newest record has this time; 0: it has none."""
        if newest_ts and abs(wall_ms - newest_ts) > _LARGE_GAP_MS:
            self._until_ms = mono_ms + _PAUSE_MS

    def is_over(self, mono_ms: int) -> bool:
        """Whether age may be judged."""
        return mono_ms >= self._until_ms


def plan_deletion(
    segments: Sequence[Sealed],
    *,
    open_bytes: int,
    limits: Limits,
    oldest_allowed_ts: int | None,
    newest_ts: Callable[[Sealed], int],
    checkpoint: tuple[int, int] | None,
) -> Plan:
    """Look at the oldest segment.

    Args:
        segments: Sealed ones, oldest first.
        open_bytes: Size of what is not sealed yet.
        limits: What the folder may hold.
        oldest_allowed_ts: Segments whose newest record is older go; None while age can't be judged.
        newest_ts: Time of the newest record of a segment.
        checkpoint: Place of the segment in which the newest complete checkpoint of this boot begins; None if
            there is none yet.
    """
    if not segments:
        return Plan()
    oldest = segments[0]
    reason = ""
    if open_bytes + sum(segment.size for segment in segments) > limits.max_bytes:
        reason = "size"
    elif oldest_allowed_ts is not None and newest_ts(oldest) < oldest_allowed_ts:
        reason = "age"
    if not reason:
        return Plan()
    if checkpoint is None or oldest.place >= checkpoint:
        return Plan(needs_checkpoint=True)
    return Plan(oldest, reason)
