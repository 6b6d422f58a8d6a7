"""When the state of one name server was known, unknown or stopped, as in the table `name_server_timeline`.

The state is known from a complete checkpoint on, until records are lost or the name server stops.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import zip_longest

from msgspec import Struct

from namekeeper.journal.reading.coverage import Coverage, EffectiveTime
from namekeeper.journal.reading.history import CheckpointApplied, Lost, Step, Stopped

__all__ = ["PeriodState", "StateTimeline", "TimelinePeriod", "UpPeriod"]


class PeriodState(StrEnum):
    """The state of a name server in a period."""

    UP = "up"
    UNKNOWN = "unknown"
    STOPPED = "stopped"


class TimelinePeriod(Struct, frozen=True):
    """A period with one state; `until` is not included, None is open."""

    since: int
    until: int | None
    state: PeriodState
    boot: int = 0
    """If up: its boot."""
    is_crash: bool = False
    """Whether it began as a boot ended without a record of it; the end of an observation is no such end."""


class UpPeriod(Struct, frozen=True):
    """A period in which the state was known."""

    boot: int
    since: int
    begin: int
    """Number of the step that began it, a checkpoint."""
    until: int | None
    end: int | None
    """Number of the step that ended it; None: it is open."""
    ended_by: str
    """unknown, stopped, up (the checkpoint of another boot), or empty."""


class _Boundary(Struct):
    time: EffectiveTime
    number: int
    boot: int
    raw: PeriodState
    """The state by the step alone; an unknown state stays unknown when the name server stops."""
    state: PeriodState


class _LossAt(Struct):
    time: EffectiveTime
    is_crash: bool = False


class StateTimeline:
    """Follows the steps of one name server, with its coverage.

    Args:
        coverage: follows the same steps, each before this.
    """

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._boundaries: list[_Boundary] = []
        self._losses: list[_LossAt] = []
        self._boot = 0
        self._is_stopped = self._is_observed = False

    def take(self, step: Step, number: int) -> None:
        """Follow one step.

        Args:
            step: the coverage has followed it.
            number: its position in the history.
        """
        if step.boot != self._boot:
            self._end_boot()
            self._boot, self._is_stopped = step.boot, False
        if isinstance(step, Stopped):
            self._is_stopped = True
        if isinstance(step, Lost) and self._boundaries:
            last = self._coverage.last_boot
            self._is_observed = last is not None and last.is_observed
            self._losses.append(_LossAt(self._coverage.time.at(step.ts)))
        match step:
            case CheckpointApplied():
                self._note(step, number, PeriodState.UP)
            case Lost():
                self._note(step, number, PeriodState.UNKNOWN)
            case Stopped():
                self._note(step, number, PeriodState.STOPPED)
            case _:
                pass

    def periods(self) -> list[TimelinePeriod]:
        """The periods, in order and without a gap, from the first complete checkpoint on."""
        crashes = {loss.time.ms for loss in self._losses if loss.is_crash}
        found: list[TimelinePeriod] = []
        for begun, until, _ in self._lasting():
            boot = begun.boot if begun.state is PeriodState.UP else 0
            last = found[-1] if found else None
            if last is not None and (last.state, last.boot) == (begun.state, boot):
                found[-1] = TimelinePeriod(last.since, until, last.state, boot, last.is_crash)
                continue
            at = begun.time.ms
            is_crash = begun.state is PeriodState.UNKNOWN and at in crashes
            found.append(TimelinePeriod(at, until, begun.state, boot, is_crash))
        return found

    def known(self) -> list[UpPeriod]:
        """The periods in which the state was known, in order."""
        found: list[UpPeriod] = []
        for begun, until, following in self._lasting():
            if begun.state is not PeriodState.UP:
                continue
            end = None if following is None else following.number
            ended_by = "" if following is None else following.raw.value
            last = found[-1] if found else None
            if last is not None and last.boot == begun.boot and last.until == begun.time.ms:
                found[-1] = UpPeriod(last.boot, last.since, last.begin, until, end, ended_by)
            else:
                found.append(UpPeriod(begun.boot, begun.time.ms, begun.number, until, end, ended_by))
        return found

    def _lasting(self) -> Iterator[tuple[_Boundary, int | None, _Boundary | None]]:
        """Each boundary after which a time passed, with the next one and its time."""
        following: _Boundary | None
        for begun, following in zip_longest(self._boundaries, self._boundaries[1:]):
            until = None if following is None else following.time.ms
            if until is None or begun.time.ms < until:
                yield begun, until, following

    def _note(self, step: Step, number: int, raw: PeriodState) -> None:
        last = self._boundaries[-1] if self._boundaries else None
        if raw is PeriodState.UP:
            if last is not None and last.raw is raw and last.boot == step.boot:
                return
        elif last is None:
            return
        state = last.raw if raw is PeriodState.STOPPED and last and last.raw is not PeriodState.UP else raw
        self._boundaries.append(_Boundary(self._coverage.time.at(step.ts), number, step.boot, raw, state))

    def _end_boot(self) -> None:
        """If a boot ended without a record of it, its last loss is the crash."""
        if self._losses and not self._is_stopped and not self._is_observed:
            self._losses[-1].is_crash = True
