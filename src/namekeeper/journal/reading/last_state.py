"""The state at the end of a journal that nobody writes to now, complete or not at all (docs/decisions/0020).

Only the newest boot is read, from its last complete checkpoint on. A boot that crashed before it had recorded
any change is skipped: its state was that at the end of the boot before. The time in which it ran counts
as time without a server.
"""

import os
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from msgspec import Struct, structs

from namekeeper.errors import JournalError
from namekeeper.files import Os
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import (
    BrokerLive,
    BrokerNameRemovedRecord,
    ServerAlive,
    ServerStarted,
    TopicQueues,
)
from namekeeper.journal.disk.heard_file import HeardTimes, load_heard
from namekeeper.journal.disk.last_boot import DAMAGED, LastBoot, load_last_boot
from namekeeper.journal.disk.lock import is_locked
from namekeeper.journal.disk.recovery import is_of
from namekeeper.journal.reading.history import (
    AnyRecord,
    Changed,
    CheckpointApplied,
    Lost,
    Step,
    Stopped,
    steps,
)
from namekeeper.journal.reading.intact_records import read_intact
from namekeeper.journal.reading.last_heard import LastHeard
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, find_segments
from namekeeper.journal.reading.replay import Replay
from namekeeper.journal.reading.state import State
from namekeeper.model.broker import BrokerKey
from namekeeper.route.events import Cause
from namekeeper.route.missing import Missing, MissingBroker, MissingRows
from namekeeper.route.tables import RouteTables

__all__ = ["LastState", "PassedBoot", "read_last_state"]

_COUNTS = frozenset({"lookup_hour", "unknown_topic_minute", "denied"})
"""Kinds of which only the position is needed."""


class PassedBoot(Struct, frozen=True):
    """A boot that crashed before it had recorded a change."""

    began_ts: int
    """Wall ms at its start."""
    ts: int
    """Wall ms of its last record."""
    up_ms: int
    """Monotonic ms from its start to its last record."""


class LastState(Struct, frozen=True):
    """The state at the end of a boot, and how long each broker had been silent then."""

    namesrv: str
    boot: int
    port: int
    """The port at which the server listened; 0 if the records that were read do not say it."""
    ts: int
    """Wall ms of the last record."""
    alive_ts: int
    """Wall ms at which the server still ran; that of the last record if nothing later is known."""
    is_stopped: bool
    """Whether the server stopped in an orderly way."""
    tables: RouteTables
    """Without a topic index."""
    idle_ms: dict[BrokerKey, int]
    """Live registration -> ms from when it was last heard until the last record; negative if heard later.
    Without registrations whose time is not known.
    """
    machine: str
    """The run of the machine in which the boot ran, see `machine_boot`; empty if that is not known."""
    mono_ms: int
    """Monotonic ms of that run at the last record."""
    missing: MissingRows
    """The brokers that had gone without unregistering."""
    passed: tuple[PassedBoot, ...] = ()
    """The later boots, which were skipped, oldest first."""


_NOBODY = MissingRows([], {})


def read_last_state(folder: str, *, missing: MissingRows = _NOBODY, system: Os = os) -> LastState:
    """Read the state at the end of a journal.

    Args:
        folder: The journal's folder.
        missing: The missing brokers that were written beside the records.
        system: The file system.

    Raises:
        JournalError: It is not a journal, a process writes to it, or it is not intact up to its end; the
            message says which.
    """
    if is_locked(folder):
        raise JournalError(f"another process writes to {folder}")
    names = find_segments(folder, system=system)
    last = load_last_boot(folder, system=system)
    if last is not None:
        _check_newest(last, names[-1])
    passed: list[PassedBoot] = []
    for _, of_boot in groupby(reversed(names), key=attrgetter("boot")):
        found = _read_boot(folder, list(of_boot)[::-1], last, missing, system)
        if isinstance(found, LastState):
            return structs.replace(found, passed=tuple(reversed(passed)))
        if found is not None:
            passed.append(found)
    raise JournalError(f"no boot in {folder} recorded a change")


def _check_newest(last: LastBoot, newest: SegmentName) -> None:
    """Raise JournalError if the boot that the file beside the folder names is not there."""
    if last is DAMAGED:
        return
    if not is_of(newest, last.identity):
        raise JournalError(f"what was here was another journal, {last.uuid} of {last.namesrv}")
    if last.boot > newest.boot:
        raise JournalError(f"records were removed or lost: {last.was_here}")


def _read_boot(
    folder: str, names: list[SegmentName], noted: LastBoot | None, missing: MissingRows, system: Os
) -> LastState | PassedBoot | None:
    """The state at the end of a boot; without one if it crashed before it had recorded a change.

    None if it has no record at all.

    Raises:
        JournalError: It is not intact up to its end.
    """
    journal = JournalReader(FoundJournal(folder, system=system), segments=names)
    begin = len(names)
    while True:
        begin = journal.checkpoint_before(begin - 1)
        boot = _BootEnd(missing)
        records = boot.noted(read_intact(folder, names[begin:], _COUNTS, system=system))
        for step in steps(records, _unindexed):
            boot.take(step)
        if noted is not None and noted.boot == names[0].boot and noted.seq > boot.last_seq:
            raise JournalError(f"records were removed or lost: {noted.was_here}")
        if boot.is_known or boot.has_lost or not begin:
            if boot.is_silent:
                return boot.passed(next(read_intact(folder, names[:1], _COUNTS, system=system), None))
            return boot.result(load_heard(folder, system=system))


def _unindexed() -> State:
    return State(is_indexed=False)


class _BootEnd:
    """Follows a boot to its end.

    Args:
        missing: The missing brokers that were written beside the records: it may be older than the records.
    """

    def __init__(self, missing: MissingRows) -> None:
        self._missing = Missing()
        self._missing.restore(missing)
        self.is_known = False
        """Whether all route rows are known now."""
        self.has_lost = False
        self._replay = Replay(make_state=_unindexed)
        self._heard = LastHeard()
        self._last: AnyRecord | None = None
        self._port = 0
        self._has_changed = False
        self._is_stopped = False
        self._was_alive = False

    @property
    def last_seq(self) -> int:
        """The last record that is there; 0 if there is none."""
        return 0 if self._last is None else self._last.seq

    @property
    def is_silent(self) -> bool:
        """Whether it crashed before it had recorded a change, or that it went on without one."""
        is_empty = not len(self._replay.state.tables.broker_live_table)
        return is_empty and not (self._has_changed or self._is_stopped or self._was_alive or self.has_lost)

    def noted(self, records: Iterator[AnyRecord]) -> Iterator[AnyRecord]:
        """The same records; their times are noted on the way."""
        for record in records:
            self._heard.take(record)
            self._last = record
            if isinstance(record, ServerStarted):
                self._port = record.port
            self._was_alive = self._was_alive or isinstance(record, ServerAlive)
            yield record

    def take(self, step: Step) -> None:
        """Follow one step."""
        if isinstance(step, Changed):
            self._note_missing(step)
        self._replay.take(step)
        if isinstance(step, Lost):
            self.is_known, self.has_lost = False, True
        elif isinstance(step, CheckpointApplied):
            self.is_known = True
            for live in self._replay.state.tables.broker_live_table:
                self._missing.came(live.key, live.broker_name, live.broker_id)
        elif isinstance(step, Changed):
            self._has_changed = True
            # A boot that restores begins without routes, and this is its first change.
            self.is_known = self.is_known or step.records[0].cause == Cause.RESTORED
        elif isinstance(step, Stopped):
            self._is_stopped = True

    def _note_missing(self, step: Changed) -> None:
        """Note brokers that come and go, and the topics that go with them, before the change is applied."""
        for record in step.records:
            if isinstance(record, BrokerLive):
                self._note_broker(record, step.ts)
            elif isinstance(record, BrokerNameRemovedRecord):
                name = record.broker_name
                self._missing.lose(name, self._replay.state.tables.topics_of(name))
            elif isinstance(record, TopicQueues) and record.cause == Cause.DELETE_TOPIC:
                self._missing.delete(record.broker_name, [topic for topic, *_ in record.rows])

    def _note_broker(self, record: BrokerLive, ts: int) -> None:
        if not record.gone:
            self._missing.came((record.cluster, record.broker_addr), record.broker_name, record.broker_id)
            return
        broker = MissingBroker(
            record.cluster, record.broker_addr, record.broker_name, record.broker_id, record.gen, ts
        )
        self._missing.went(broker, record.reason)

    def passed(self, first: AnyRecord | None) -> PassedBoot | None:
        """When it ran.

        Args:
            first: Its first record; None if it has none.
        """
        last = self._last
        if first is None or last is None:
            return None
        return PassedBoot(began_ts=first.ts - first.up_ms, ts=last.ts, up_ms=last.up_ms)

    def result(self, times: HeardTimes) -> LastState:
        """The state.

        Args:
            times: When brokers were heard, if it was written beside the records.

        Raises:
            JournalError: It is not known, or its rows contradict each other.
        """
        last, tables = self._last, self._replay.state.tables
        if last is None or not self.is_known:
            raise JournalError("records of its last boot are lost")
        if not _are_consistent(tables):
            raise JournalError("groups and live registrations of its last boot contradict each other")
        is_of_boot = times.boot == last.boot
        for key, up_ms in times.of_boot(last.boot).items():
            self._heard.up_ms[key] = max(up_ms, self._heard.up_ms.get(key, up_ms))
        idle_ms = {
            key: last.up_ms - up_ms
            for key, up_ms in self._heard.up_ms.items()
            if key in tables.broker_live_table
        }
        return LastState(
            namesrv=last.namesrv,
            boot=last.boot,
            port=self._port,
            ts=last.ts,
            alive_ts=max(last.ts, times.ran_until(last.boot, last.seq)),
            is_stopped=self._is_stopped,
            tables=tables,
            idle_ms=idle_ms,
            machine=times.machine if is_of_boot else "",
            mono_ms=times.began_ms + last.up_ms,
            missing=self._missing.rows()(),
        )


def _are_consistent(tables: RouteTables) -> bool:
    """Whether each member of a group has one live registration, and nobody else has (docs/decisions/0002)."""
    groups = tables.broker_addr_table
    members = {(name, addr) for name, group in groups.items() for addr in group.broker_addrs.values()}
    live = [(live.broker_name, live.broker_addr) for live in tables.broker_live_table]
    return len(live) == len(set(live)) == len(members) and set(live) == members
