"""The state at a time: a pure fold over the steps of a history.

The state at T is made by all records up to the last one with `ts` <= T. Even if the clock ran backwards this
is the state by effective times, and needs one pass only.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from namekeeper.journal.contract.record import Record, TopicQueues
from namekeeper.journal.reading.coverage import Coverage, Knowledge
from namekeeper.journal.reading.history import AnyRecord, Began, Changed, CheckpointApplied, Lost, Step, steps
from namekeeper.journal.reading.state import State

__all__ = ["AHEAD_LIMIT", "Replay", "StateAt", "state_at"]

AHEAD_LIMIT = 1_000_000
"""Rows after the time that are kept in case that the clock ran backwards; it seldom does, and by less."""


class StateAt(Struct, frozen=True):
    """The state of one name server at a time, as far as its journal knows."""

    at: int
    """Wall ms."""
    knowledge: Knowledge
    state: State
    """If `knowledge` is not KNOWN: the last known state."""
    knows_up_to: int | None
    """Wall ms of the last record, or `at` if that is later and the last record gives the state until then."""
    coverage: Coverage
    is_uncertain: bool = False
    """Whether changes that an observer recorded after this time may have happened before it."""


class Replay:
    """Applies steps up to a time; follows the coverage to the end of the journal."""

    def __init__(self, at: int | None = None, make_state: Callable[[], State] = State) -> None:
        """Begin.

        Args:
            at: Wall ms; None is the end of the journal.
            make_state: makes the empty state that it begins with.
        """
        self.coverage = Coverage()
        self.state = make_state()
        self._at = at
        self._ahead: list[Step] = []
        """Steps after `at`; they are applied if a step with an earlier time follows."""
        self._ahead_rows = 0
        self._is_cut = False
        """Whether there were too many of them, so that none is kept before the next checkpoint."""
        self._lacks_steps = False
        """Whether such steps would belong to the state."""
        self._is_uncertain = False

    def take(self, step: Step) -> None:
        """Follow one step."""
        self.coverage.take(step)
        if isinstance(step, Lost):
            return
        if isinstance(step, Changed | CheckpointApplied | Began):
            self._keep(step)
        if isinstance(step, Changed) and self._may_be_before(step):
            self._is_uncertain = True
        if self._at is None or step.ts <= self._at:
            for each in self._ahead:
                self._apply(each)
            self._ahead.clear()
            self._ahead_rows = 0
            self._is_uncertain = False
            self._lacks_steps |= self._is_cut

    def result(self) -> StateAt:
        """The state at the time."""
        at = self.coverage.knows_up_to or 0 if self._at is None else self._at
        knowledge = Knowledge.UNKNOWN if self._lacks_steps else self.coverage.at(at)
        return StateAt(
            at, knowledge, self.state, self.coverage.knows_up_to, self.coverage,
            self._is_uncertain,
        )  # fmt: skip

    def _keep(self, step: Changed | CheckpointApplied | Began) -> None:
        """Keep a step until it is known whether it belongs to the state."""
        if isinstance(step, CheckpointApplied):
            self._ahead.clear()
            self._ahead_rows, self._is_cut = 0, False
        elif self._is_cut:
            return
        self._ahead.append(step)
        if self._at is not None and step.ts > self._at and isinstance(step, Changed):
            self._ahead_rows += sum(map(_rows, step.records))
            if self._ahead_rows > AHEAD_LIMIT:
                self._ahead.clear()
                self._is_cut = True

    def _may_be_before(self, step: Changed) -> bool:
        """Whether the window of a later change begins up to the time."""
        window_ms = step.records[0].window_ms if step.records else 0
        return window_ms > 0 and self._at is not None and step.ts - window_ms <= self._at < step.ts

    def _apply(self, step: Step) -> None:
        if isinstance(step, Changed):
            self.state.apply(step.records)
        elif isinstance(step, CheckpointApplied):
            self.state, self._lacks_steps = step.state, False
        elif isinstance(step, Began):
            self.state.restart()


def _rows(record: Record) -> int:
    return len(record.rows) if isinstance(record, TopicQueues) else 1


def state_at(records: Iterable[AnyRecord], at: int | None = None) -> StateAt:
    """Replay the records of one name server up to a time.

    Args:
        records: all records by (boot, seq), also those after `at`: a checkpoint may be completed later, and
            the clock may have run backwards.
        at: Wall ms; None is the end of the journal.
    """
    replay = Replay(at)
    for step in steps(records):
        replay.take(step)
    return replay.result()
