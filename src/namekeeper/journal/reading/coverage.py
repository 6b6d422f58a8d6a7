"""The times that a journal covers: boots, losses, start and end (docs/decisions/0012).

Times here are *effective*: the effective time of a record is the minimum of its `ts` and those of all later
records, so it never runs backwards, even if the clock did.
"""

from bisect import bisect_right
from enum import StrEnum

from msgspec import Struct

from namekeeper.journal.reading.history import Began, CheckpointApplied, Lost, Step, Stopped

__all__ = ["Boot", "Coverage", "EffectiveTime", "EffectiveTimes", "Knowledge", "TimeRange"]


class EffectiveTime(Struct, gc=False):
    """The effective time of a position; a later record with an earlier `ts` changes it."""

    own_ms: int
    """Wall ms, if `same` is None."""
    same: "EffectiveTime | None" = None
    """An earlier position whose time this one has for ever."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EffectiveTime) and self.ms == other.ms

    def __hash__(self) -> int:
        raise TypeError("its value changes")

    @property
    def ms(self) -> int:
        """Wall ms."""
        first = self
        while first.same is not None:
            first = first.same
        time = self
        while time.same is not None:  # the next caller has a short way
            time.same, time = first, time.same
        return first.own_ms


class TimeRange(Struct, frozen=True):
    """A range of wall ms; `until`, the range end, is not included; None is open."""

    since: int
    until: int | None = None

    def __contains__(self, ms: int) -> bool:
        return self.since <= ms and (self.until is None or ms < self.until)


class Boot(Struct, frozen=True):
    """One run of the server process."""

    boot: int
    since: int
    until: int | None
    """None for the newest boot, unless the server stopped in an orderly way."""
    is_stopped: bool
    """Whether the server stopped in an orderly way."""
    is_observed: bool = False
    """Whether it is a period of observation, as far as its start was read."""
    restart: str = ""
    """Whether the observed name server restarted before it: see `server_started`."""


class Knowledge(StrEnum):
    """The knowledge of a journal about a time."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    """Records were lost."""
    NOT_YET = "not known yet"
    """The time is after the last record."""
    BEFORE = "before the journal"
    STOPPED = "stopped"
    """The server was stopped and not started again yet."""


class EffectiveTimes:
    """Gives effective times, and corrects them when a record has an earlier `ts` than those before it."""

    def __init__(self) -> None:
        self._times: list[EffectiveTime] = []
        """The different times, in order. A record with an earlier time makes one of all that are later, so
        however often the clock goes back, each is looked at a few times."""

    def note(self, ts: int) -> bool:
        """Note the `ts` of a record: no effective time before it can be later. Whether one has changed."""
        times = self._times
        first = None
        while times and times[-1].own_ms > ts:
            time = times.pop()
            if first is not None:
                first.same = time
            first = time
        if first is not None:
            first.own_ms = ts
            times.append(first)
        return first is not None

    def at(self, ts: int) -> EffectiveTime:
        """The effective time of the last noted record, whose `ts` this is."""
        if not self._times or self._times[-1].own_ms != ts:
            self._times.append(EffectiveTime(ts))
        return self._times[-1]

    def forget(self, until: int, but: int) -> None:
        """Correct no more times before one (wall ms), but for those that equal another one."""
        self._times = [time for time in self._times if time.own_ms >= until or time.own_ms == but]


class _BootTimes:
    def __init__(self, boot: int, since: EffectiveTime) -> None:
        self.boot = boot
        self.since = since
        self.until: EffectiveTime | None = None
        self.is_stopped = False
        self.is_observed = False
        self.restart = ""


class Coverage:
    """Follows the steps of one name server, and says for any time whether the state is known."""

    def __init__(self) -> None:
        self.time = EffectiveTimes()
        self._boots: list[_BootTimes] = []
        self._unknown: list[tuple[EffectiveTime, EffectiveTime | None]] = []
        """Ranges in order; none is empty, and no two touch."""
        self._is_unknown = False
        self._from: EffectiveTime | None = None
        self._up_to: int | None = None

    def take(self, step: Step) -> None:
        """Follow one step."""
        if isinstance(step, Lost):
            self._lose(step)
            return
        if self.time.note(step.ts):
            self._merge_last()
        self._up_to = step.ts
        if not self._boots or self._boots[-1].boot != step.boot:
            self._begin(step)
        if isinstance(step, Began):
            self._boots[-1].is_observed = bool(step.record.observed_addr)
            self._boots[-1].restart = step.record.restart
        elif isinstance(step, Stopped):
            self._boots[-1].until = self.time.at(step.ts)
            self._boots[-1].is_stopped = True
        elif isinstance(step, CheckpointApplied):
            self._know(self.time.at(step.ts))

    @property
    def boots(self) -> list[Boot]:
        """All boots, in order."""
        return list(map(_shown, self._boots))

    @property
    def last_boot(self) -> Boot | None:
        """The newest boot; None without a record."""
        return _shown(self._boots[-1]) if self._boots else None

    @property
    def unknown(self) -> list[TimeRange]:
        """Ranges in which the state is unknown because records were lost.

        Empty ranges are left out. Two that touch are one: between them the state was known for no time.
        """
        return [TimeRange(since.ms, None if until is None else until.ms) for since, until in self._unknown]

    @property
    def last_unknown(self) -> TimeRange | None:
        """The last of these ranges; None if there is none."""
        if not self._unknown:
            return None
        since, until = self._unknown[-1]
        return TimeRange(since.ms, None if until is None else until.ms)

    @property
    def knows_from(self) -> int | None:
        """Effective time of the first complete checkpoint; None without one."""
        return None if self._from is None else self._from.ms

    @property
    def knows_up_to(self) -> int | None:
        """`ts` of the last record in order, which may not be the largest; None without a record."""
        return self._up_to

    def at(self, ms: int) -> Knowledge:
        """The knowledge about a time, which is in wall ms."""
        if self._up_to is None or ms > self._up_to:
            return Knowledge.NOT_YET
        if self._from is None or ms < self._from.ms:
            return Knowledge.BEFORE
        place = bisect_right(self._unknown, ms, key=_since)
        if place:
            until = self._unknown[place - 1][1]
            if until is None or ms < until.ms:
                return Knowledge.UNKNOWN
        if self.boot_at(ms) is None:
            return Knowledge.STOPPED
        return Knowledge.KNOWN

    def boot_at(self, ms: int) -> Boot | None:
        """The boot at a time, in wall ms; None if there was none."""
        place = bisect_right(self._boots, ms, key=_begin_of)
        boot = _shown(self._boots[place - 1]) if place else None
        return boot if boot is not None and ms in TimeRange(boot.since, boot.until) else None

    def _begin(self, step: Step) -> None:
        since = self.time.at(step.ts)
        if self._boots and self._boots[-1].until is None:
            self._boots[-1].until = since
        self._boots.append(_BootTimes(step.boot, since))

    def _lose(self, step: Lost) -> None:
        if not self._is_unknown and self._from is not None:
            self._is_unknown = True
            self._unknown.append((self.time.at(step.ts), None))
            self._merge_last()

    def _know(self, since: EffectiveTime) -> None:
        if self._from is None:
            self._from = since
        if self._is_unknown:
            self._is_unknown = False
            self._unknown[-1] = (self._unknown[-1][0], since)
            self._merge_last()

    def _merge_last(self) -> None:
        """Leave out the last ranges if they have become empty, and make one of two that touch.

        A record with an earlier time changes the last ones only, and equal times stay equal.
        """
        unknown = self._unknown
        while unknown:
            since, until = unknown[-1]
            before = unknown[-2] if len(unknown) > 1 else None
            if until is not None and until.ms == since.ms:
                unknown.pop()
            elif before is not None and before[1] is not None and before[1].ms == since.ms:
                unknown[-2:] = [(before[0], until)]
            else:
                return


def _since(unknown: tuple[EffectiveTime, EffectiveTime | None]) -> int:
    return unknown[0].ms


def _begin_of(boot: _BootTimes) -> int:
    return boot.since.ms


def _shown(boot: _BootTimes) -> Boot:
    until = None if boot.until is None else boot.until.ms
    return Boot(boot.boot, boot.since.ms, until, boot.is_stopped, boot.is_observed, boot.restart)
