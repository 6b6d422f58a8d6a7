"""What a journal knows of which time: boots, losses, and from when to when (docs/decisions/0012).

Times here are *effective*: the minimum of what a record says and of all that later ones say, so that they
never run backwards, whatever the clock did.
"""

from enum import StrEnum

from msgspec import Struct

from namekeeper.journal.reading.history import CheckpointApplied, Lost, Step, Stopped

__all__ = ["Boot", "Coverage", "EffectiveTime", "EffectiveTimes", "Knowledge", "TimeRange"]


class EffectiveTime(Struct, eq=False):
    """The effective time of a place; later records may still make it an earlier one."""

    ms: int


class TimeRange(Struct, frozen=True):
    """Wall ms, `until` not included; None is open."""

    since: int
    until: int | None = None

    def __contains__(self, ms: int) -> bool:
        return self.since <= ms and (self.until is None or ms < self.until)


class Boot(Struct, frozen=True):
    """One boot of the server's process."""

    boot: int
    since: int
    until: int | None
    """None for the newest one, unless it ended in an orderly way."""
    is_stopped: bool
    """Whether it ended in an orderly way."""


class Knowledge(StrEnum):
    """What a journal knows of an instant."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    """Records were lost."""
    NOT_YET = "not known yet"
    """It is later than the last record."""
    BEFORE = "before the journal"
    STOPPED = "stopped"
    """The server had been stopped and was not started again yet."""


class EffectiveTimes:
    """Gives instants, and corrects them when a later record turns out to be an earlier one."""

    def __init__(self) -> None:
        self._instants: list[EffectiveTime] = []

    def pass_by(self, ts: int) -> None:
        """See a record of this time: what came before can't be later."""
        for instant in reversed(self._instants):
            if instant.ms <= ts:
                return
            instant.ms = ts

    def at(self, ts: int) -> EffectiveTime:
        """The instant of the record that was seen last."""
        if not self._instants or self._instants[-1].ms != ts:
            self._instants.append(EffectiveTime(ts))
        return self._instants[-1]


class _BootTimes:
    def __init__(self, boot: int, since: EffectiveTime) -> None:
        self.boot = boot
        self.since = since
        self.until: EffectiveTime | None = None
        self.is_stopped = False


class Coverage:
    """Follows the steps of one name server."""

    def __init__(self) -> None:
        self.time = EffectiveTimes()
        self._boots: list[_BootTimes] = []
        self._unknown: list[tuple[EffectiveTime, EffectiveTime | None]] = []
        self._is_unknown = False
        self._from: EffectiveTime | None = None
        self._up_to: int | None = None

    def take(self, step: Step) -> None:
        """Follow one step."""
        if isinstance(step, Lost):
            self._lose(step)
            return
        self.time.pass_by(step.ts)
        self._up_to = step.ts
        if not self._boots or self._boots[-1].boot != step.boot:
            self._begin(step)
        if isinstance(step, Stopped):
            self._boots[-1].until = self.time.at(step.ts)
            self._boots[-1].is_stopped = True
        elif isinstance(step, CheckpointApplied):
            self._know(self.time.at(step.ts))

    @property
    def boots(self) -> list[Boot]:
        """In order."""
        return [
            Boot(boot.boot, boot.since.ms, None if boot.until is None else boot.until.ms, boot.is_stopped)
            for boot in self._boots
        ]

    @property
    def unknown(self) -> list[TimeRange]:
        """When nobody knows, because records were lost; empty ones are none."""
        ranges = (TimeRange(since.ms, None if until is None else until.ms) for since, until in self._unknown)
        return [time_range for time_range in ranges if time_range.since != time_range.until]

    @property
    def knows_from(self) -> int | None:
        """Begin of the first complete checkpoint; None without one."""
        return None if self._from is None else self._from.ms

    @property
    def knows_up_to(self) -> int | None:
        """Time of the last record in order, not the largest; None without one."""
        return self._up_to

    def at(self, ms: int) -> Knowledge:
        """What is known of an instant."""
        if self._up_to is None or ms > self._up_to:
            return Knowledge.NOT_YET
        if self._from is None or ms < self._from.ms:
            return Knowledge.BEFORE
        if any(ms in time_range for time_range in self.unknown):
            return Knowledge.UNKNOWN
        if self.boot_at(ms) is None:
            return Knowledge.STOPPED
        return Knowledge.KNOWN

    def boot_at(self, ms: int) -> Boot | None:
        """The boot that an instant belongs to; None while there was none."""
        return next((boot for boot in reversed(self.boots) if ms in TimeRange(boot.since, boot.until)), None)

    def _begin(self, step: Step) -> None:
        since = self.time.at(step.ts)
        if self._boots and self._boots[-1].until is None:
            self._boots[-1].until = since
        self._boots.append(_BootTimes(step.boot, since))

    def _lose(self, step: Lost) -> None:
        if not self._is_unknown and self._from is not None:
            self._is_unknown = True
            self._unknown.append((self.time.at(step.ts), None))

    def _know(self, since: EffectiveTime) -> None:
        if self._from is None:
            self._from = since
        if self._is_unknown:
            self._is_unknown = False
            self._unknown[-1] = (self._unknown[-1][0], since)
