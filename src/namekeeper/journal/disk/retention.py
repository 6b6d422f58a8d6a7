"""Which segments are deleted: the oldest, by size and by age, but never the newest complete checkpoint."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from namekeeper.journal.settings import DAY_MS, Limits

__all__ = ["AgePause", "Plan", "Sealed", "plan_deletion"]

_LARGE_STEP_MS = 3_600_000
"""A step of at least this size means that the clock was wrong, and segments may seem older than they are."""
_LARGE_GAP_MS = DAY_MS
"""If the newest record is older or younger than this at a start, the clock may be wrong."""
_PAUSE_MS = DAY_MS
"""For how long nothing is deleted by age then: the operator has time to set the clock."""


class Sealed(Struct, frozen=True):
    """A sealed segment."""

    position: tuple[int, int]
    """Boot and first seq."""
    file: str
    size: int


class Plan(Struct, frozen=True):
    """The next step of retention."""

    segment: Sealed | None = None
    """The segment to delete now, None for none: one at a time, so that a crash leaves no gap."""
    reason: str = ""
    """`size` or `age`."""
    needs_checkpoint: bool = False
    """Whether the next segment to delete holds the newest complete checkpoint: write a new one first."""


class AgePause:
    """Decides when nothing is deleted by age, because the wall clock may be wrong."""

    def __init__(self) -> None:
        self._until_ms = 0

    def note_step(self, step_ms: int, mono_ms: int) -> None:
        """Note a step of the wall clock."""
        if abs(step_ms) >= _LARGE_STEP_MS:
            self._until_ms = mono_ms + _PAUSE_MS

    def note_start(self, *, newest_ts: int, wall_ms: int, mono_ms: int) -> None:
        """Note that a boot began at `wall_ms`; `newest_ts` is the newest record's time, 0 for none."""
        if newest_ts and abs(wall_ms - newest_ts) > _LARGE_GAP_MS:
            self._until_ms = mono_ms + _PAUSE_MS

    def is_over(self, mono_ms: int) -> bool:
        """Whether segments may be deleted by age."""
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
    """Decide about the oldest segment.

    Args:
        segments: Sealed ones, oldest first.
        open_bytes: Size of the open segment.
        limits: The limits of the folder.
        oldest_allowed_ts: Segments whose newest record is older are deleted; None deletes nothing by age.
        newest_ts: Time of the newest record of a segment.
        checkpoint: Position of the segment in which the newest complete checkpoint of this boot begins; None
            if there is none yet.
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
    if checkpoint is None or oldest.position >= checkpoint:
        return Plan(needs_checkpoint=True)
    return Plan(oldest, reason)
