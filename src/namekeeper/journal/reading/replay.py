"""The state at an instant: a pure fold over what happened.

The state at T is what all records up to the last one with a time of at most T make: with a clock that ran
backwards that is the same as going by effective times, in one pass.
"""

from collections.abc import Iterable

from msgspec import Struct

from namekeeper.journal.reading.coverage import Coverage, Knowledge
from namekeeper.journal.reading.history import AnyRecord, Began, Changed, CheckpointApplied, Lost, Step, steps
from namekeeper.journal.reading.state import State

__all__ = ["Replay", "StateAt", "state_at"]


class StateAt(Struct, frozen=True):
    """What one name server held at an instant, as far as its journal knows."""

    at: int
    """Wall ms."""
    knowledge: Knowledge
    state: State
    """Where `knowledge` is not KNOWN: what was known last."""
    coverage: Coverage


class Replay:
    """Folds steps up to an instant, and follows what is known beyond it."""

    def __init__(self, at: int | None = None) -> None:
        """Begin.

        Args:
            at: Wall ms; None is the end of the journal.
        """
        self.coverage = Coverage()
        self.state = State()
        self._at = at
        self._ahead: list[Step] = []
        """Steps later than `at`, unless an earlier time follows."""

    def take(self, step: Step) -> None:
        """Follow one step."""
        self.coverage.take(step)
        if isinstance(step, Lost):
            return
        if isinstance(step, CheckpointApplied):
            self._ahead.clear()
        if isinstance(step, Changed | CheckpointApplied | Began):
            self._ahead.append(step)
        if self._at is None or step.ts <= self._at:
            for each in self._ahead:
                self._fold(each)
            self._ahead.clear()

    def result(self) -> StateAt:
        """The state at the instant."""
        at = self.coverage.knows_up_to or 0 if self._at is None else self._at
        return StateAt(at, self.coverage.at(at), self.state, self.coverage)

    def _fold(self, step: Step) -> None:
        if isinstance(step, Changed):
            self.state.apply(step.records)
        elif isinstance(step, CheckpointApplied):
            self.state = step.state
        elif isinstance(step, Began):
            self.state.restart()


def state_at(records: Iterable[AnyRecord], at: int | None = None) -> StateAt:
    """Replay the records of one name server, by (boot, seq), up to an instant.

    Args:
        records: all there are, also those after it: a checkpoint may become complete later, and a clock may
            have run backwards.
        at: Wall ms; None is the end of the journal.
    """
    replay = Replay(at)
    for step in steps(records):
        replay.take(step)
    return replay.result()
