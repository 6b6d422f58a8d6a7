"""When the state of one name server was known, unknown or stopped."""

from collections.abc import Iterator
from enum import StrEnum
from itertools import zip_longest

from msgspec import Struct

from namekeeper.history.rows import HistoryEvent, What
from namekeeper.journal.reading.coverage import Coverage, EffectiveTime
from namekeeper.journal.reading.history import CheckpointApplied, Lost, Step, Stopped

__all__ = ["PeriodState", "StatePeriod", "StateTimeline", "TimelinePeriod"]


class PeriodState(StrEnum):
    """The state of a name server in a period."""

    UP = "up"
    UNKNOWN = "unknown"
    STOPPED = "stopped"


class StatePeriod(Struct, frozen=True):
    """A period with one state; `until` is not included, None is open."""

    since: int
    until: int | None
    state: PeriodState


class TimelinePeriod(StatePeriod, frozen=True):
    """A period with one state, and of one boot if the name server was up."""

    boot: int = 0
    """If up: its boot."""
    is_crash: bool = False
    """Whether it began as a boot ended without a record of it; the end of an observation is no such end."""


class StateTimeline:
    """Follows the steps of one name server, with its coverage.

    Args:
        coverage: follows the same steps, each before this.
    """

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._events: list[HistoryEvent] = []
        """From the first complete checkpoint on: the starts of boots and their first complete checkpoints,
        losses and the first complete checkpoint after each, and stops."""
        self._last_loss: EffectiveTime | None = None
        self._crashes: list[EffectiveTime] = []
        self._boot = 0
        self._is_stopped = self._is_observed = False

    def take(self, step: Step, number: int) -> None:
        """Follow one step.

        Args:
            step: the coverage has followed it.
            number: its position in the history.
        """
        if step.boot != self._boot:
            self._begin_boot(step, number)
        match step:
            case CheckpointApplied():
                self._note(step, number, What.CORRECTED)
            case Lost():
                self._lose(step, number)
            case Stopped():
                self._is_stopped = True
                self._note(step, number, What.STOPPED)
            case _:
                pass

    def periods(self, begin: int = 0, *, at_checkpoints: bool = False) -> list[TimelinePeriod]:
        """The periods, in order and without a gap, from the first complete checkpoint on.

        Args:
            begin: wall ms; what was before is left out.
            at_checkpoints: whether a name server is up from its first complete checkpoint on, as in gold's
                table `name_server_timeline`. Otherwise it is up from its start on.
        """
        crashes = {time.ms for time in self._crashes}
        found: list[TimelinePeriod] = []
        for event, state, following in self._lasting(at_checkpoints=at_checkpoints):
            until = None if following is None else following.at
            if until is not None and until <= begin:
                continue
            boot = event.boot if state is PeriodState.UP else 0
            last = found[-1] if found else None
            if last is not None and (last.state, last.boot) == (state, boot):
                found[-1] = TimelinePeriod(last.since, until, state, boot, last.is_crash)
                continue
            is_crash = state is PeriodState.UNKNOWN and event.at in crashes
            found.append(TimelinePeriod(max(begin, event.at), until, state, boot, is_crash))
        return found

    def marks(self) -> list[HistoryEvent]:
        """Each checkpoint from which on the state is known, and the loss or stop that ends that, in order."""
        found: list[HistoryEvent] = []
        for event, state, following in self._lasting(at_checkpoints=True):
            if state is not PeriodState.UP:
                continue
            if found and (found[-2].boot, found[-1].at) == (event.boot, event.at):
                found.pop()
            else:
                found.append(event)
            if following is not None:
                found.append(following)
        return found

    def _lasting(
        self, *, at_checkpoints: bool
    ) -> Iterator[tuple[HistoryEvent, PeriodState, HistoryEvent | None]]:
        """Each event after which a time passed, with the state since then and the next event."""
        events = self._events
        if at_checkpoints:
            events = [event for event in events if event.what is not What.STARTED]
        before = PeriodState.UP
        for event, following in zip_longest(events, events[1:]):
            own = state = _STATES[event.what]
            if before is PeriodState.UNKNOWN and event.what is not What.CORRECTED:
                state = before
            # As in gold: the second stop of two without a checkpoint between them ends an unknown state.
            before = own if at_checkpoints else state
            if following is None or event.at < following.at:
                yield event, state, following

    def _begin_boot(self, step: Step, number: int) -> None:
        """If a boot ended without a record of it, its last loss is the crash."""
        if self._last_loss is not None and not self._is_stopped and not self._is_observed:
            self._crashes.append(self._last_loss)
        self._boot, self._is_stopped = step.boot, False
        if not isinstance(step, Lost):
            self._note(step, number, What.STARTED)

    def _lose(self, step: Lost, number: int) -> None:
        if self._events:
            last = self._coverage.last_boot
            self._is_observed = last is not None and last.is_observed
            self._last_loss = self._coverage.time.at(step.ts)
        self._note(step, number, What.LOST)

    def _note(self, step: Step, number: int, what: What) -> None:
        last = self._events[-1].what if self._events else None
        if last is what or (last is None and what is not What.CORRECTED):
            return
        when = self._coverage.time.at(step.ts)
        self._events.append(HistoryEvent(when, "", what, boot=step.boot, number=number))


_STATES = {
    What.CORRECTED: PeriodState.UP,
    What.STARTED: PeriodState.UP,
    What.LOST: PeriodState.UNKNOWN,
    What.STOPPED: PeriodState.STOPPED,
}
"""Kind of event -> the state from it on; but an unknown state lasts until the next checkpoint."""
