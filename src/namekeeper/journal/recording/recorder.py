"""The event loop's half of the journal: puts changes, activity and checkpoints into the queue.

The recorder drops a change that does not fit into the queue. A checkpoint follows as soon as there is room
again. The recorder queues its rows only while there is room, a few in each event-loop iteration.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from namekeeper.clock import Clock
from namekeeper.journal.contract.activity import Access
from namekeeper.journal.contract.record import ClockChanged, Record, ServerAlive, ServerStarted, ServerStopped
from namekeeper.journal.queue.backlog import Backlog, Mark
from namekeeper.journal.recording.activity import MINUTE_MS, Activity
from namekeeper.journal.recording.checkpoint import checkpoint_records
from namekeeper.journal.recording.lookups import HOUR_MS, lookup_hours
from namekeeper.journal.recording.sequencer import Sequencer
from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.journal.recording.source import Source
from namekeeper.journal.recording.timeline import ChangeTime, Timeline
from namekeeper.model.now import Now
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged, BrokerLiveGone, Cause, Change

__all__ = ["Recorder"]

CHECKPOINT_ROOM_BYTES = 4 << 20
"""The recorder queues rows of a checkpoint only while the queue holds less than this, or less than half of a
small queue. It queues a row larger than the queue, too: after a drop another checkpoint would be needed."""
ROWS_IN_A_TURN = 2
"""Records of a checkpoint that the recorder makes in one event-loop iteration, which takes a millisecond."""
ROWS_AT_ONCE = 1_000
"""Records of the first checkpoint that are made at once: no broker is registered yet."""
RETENTION_PAUSE_MS = 600_000
"""Least time between two checkpoints for retention, which never stops asking if one exceeds the limits."""
SOON_S, BUSY_S, IDLE_S = 0.002, 0.05, 1.0


class Recorder:
    """Used on the event loop only; records nothing before `begin`."""

    def __init__(
        self,
        source: Source,
        backlog: Backlog,
        *,
        clock: Clock,
        started: Callable[[], ServerStarted],
        checkpoint_ms: int,
        cluster_label: str = "",
    ) -> None:
        """Prepare.

        Args:
            source: Functions that read the rest of the recorded data, besides changes.
            backlog: The queue.
            clock: Gives the times of the records.
            started: Makes the first record of a boot; the writer calls it, because it knows the folder.
            checkpoint_ms: Time between two checkpoints.
            cluster_label: Label of the cluster that the name server belongs to; empty: none.
        """
        self.sequencer = Sequencer(backlog)
        self._source = source
        self._backlog = backlog
        self._clock = clock
        self._started = started
        self._checkpoint_ms = checkpoint_ms
        self._cluster_label = cluster_label
        self.is_recording = False
        self._timeline: Timeline
        self._activity: Activity
        self._steps: deque[Iterator[None]] = deque()
        """Checkpoints and lookup counts, queued step by step: each step queues one record."""
        self._holes_covered = 0
        """`sequencer.holes` when the newest checkpoint began."""
        self._lost_records = 0
        self._clock_step_ms = 0
        self._minute = 0
        self._hour = 0
        self._checkpoint_due_ms = 0
        self._retention_asked_ms: int | None = None
        self._beginning: Now | None = None
        """While a boot begins, its time. It may lie in the past: the changes since then are recorded next."""

    def last_heard(self) -> list[tuple[str, str, int]] | None:
        """Cluster, address, ms since the boot began, of each live broker; None while nothing is recorded."""
        if not self.is_recording:
            return None
        return [
            (cluster, addr, mono_ms - self.began_ms) for cluster, addr, mono_ms in self._source.last_heard()
        ]

    @property
    def began_ms(self) -> int:
        """Monotonic ms at which the boot began; ask once something is recorded."""
        return self._timeline.begin_ms

    @property
    def is_incomplete(self) -> bool:
        """Whether records were lost and no checkpoint has begun since."""
        return self.sequencer.holes != self._holes_covered

    def begin(self, now: Now | None = None, snapshot: Snapshot | None = None) -> None:
        """Begin a boot: its first record, and a checkpoint of the state.

        Args:
            now: when it began; changes before it are not recorded. None is the present.
            snapshot: the state at that time; None takes it now.
        """
        now = now or self._clock.now()
        snapshot = snapshot or self._source.take_snapshot()
        self._steps.clear()
        self._timeline = Timeline(now)
        self._activity = Activity(snapshot.live)
        self._minute, self._hour = now.wall_ms // MINUTE_MS, now.wall_ms // HOUR_MS
        self.is_recording = True
        self.sequencer.begin(self._started, self._timeline.at(now))
        self._begin_checkpoint("start", snapshot, now)
        self._beginning = now
        self._do_steps(ROWS_AT_ONCE)
        self._beginning = None

    def stop(self) -> None:
        """Record nothing until the next `begin`."""
        self.is_recording = False
        self._steps.clear()

    def end(self, *, is_stopped: bool = True) -> None:
        """Queue what was counted, and the record of the stop, or of how long the server was observed."""
        if not self.is_recording:
            return
        time = self._at(self._clock.now())
        self._put(self._activity.flush(self._minute * MINUTE_MS), time)
        self._put(lookup_hours(self._source.take_lookups(), self._hour * HOUR_MS), time)
        last = ServerStopped(last_seq=self.sequencer.last_seq + 1) if is_stopped else self._alive()
        self.sequencer.record(last, time, must=True)
        self.stop()

    def record(self, change: Change, now: Now | None = None) -> None:
        """Queue a change that was made `now`; count the refreshes in it."""
        if not self.is_recording:
            return
        now, activity = now or self._clock.now(), self._activity
        for event in change.events:
            note = _ACTIVITY.get(type(event))
            if note is not None and change.cause is not Cause.OBSERVED:  # nobody was heard
                note(activity, event, now.wall_ms)
        time = self._at(now)
        if activity.has_due:
            self._put(activity.take_due(), time)
        self.sequencer.change(change, time)

    def lose(self, changes: int) -> None:
        """Note that `changes` can't be recorded: their numbers stay unused, and a checkpoint follows."""
        if self.is_recording:
            self.sequencer.lose(changes)
            self._activity.add(self._source.take_snapshot().live)

    def unknown_topic(self, topic: str | None, language: str | None, version: int) -> None:
        """A client looked up a topic that has no route."""
        if self.is_recording:
            self._activity.unknown_topic(topic, language, version)

    def denied(self, code: int, host: str, reason: str) -> None:
        """A request was refused."""
        if self.is_recording:
            self._activity.denied(code, host, reason)

    def access(self, record: Access) -> None:
        """Access rules checked a request."""
        if self.is_recording and self._activity.access(record):
            self._put((record,), self._at(self._clock.now()))

    def alive(self) -> None:
        """The server goes on with the recorded state, though nothing changes."""
        self.note(self._alive())

    def note(self, record: Record) -> None:
        """Queue a record that is no change of the tables."""
        if self.is_recording:
            self._put((record,), self._at(self._clock.now()))

    def need_checkpoint(self, reason: str) -> None:
        """Write a checkpoint soon; `reason` is `recovery` or `retention`."""
        now = self._clock.now()
        if reason == "recovery":
            self.sequencer.note_hole()
        elif self.is_recording and not self._steps and self._retention_may_ask(now):
            self._begin_checkpoint(reason, self._source.take_snapshot(), now)

    def tick(self, *, lost_records: int, is_writable: bool) -> float:
        """Do the work that is due; returns the seconds until the next call.

        Args:
            lost_records: How many queued records the writer has lost since it started.
            is_writable: Whether the disk takes records now.
        """
        if lost_records != self._lost_records:
            self._lost_records = lost_records
            self.sequencer.note_hole()
        if not self.is_recording:
            return IDLE_S
        now = self._clock.now()
        time = self._at(now)
        if now.wall_ms // MINUTE_MS != self._minute:
            self._end_minute(now, time)
        if self.is_incomplete and is_writable and self._has_room:
            self._steps.clear()
            self._begin_checkpoint("recovery", self._source.take_snapshot(), now)
        elif now.mono_ms >= self._checkpoint_due_ms and not self._steps:
            self._begin_checkpoint("interval", self._source.take_snapshot(), now)
        self._do_steps(ROWS_IN_A_TURN)
        if not self._steps:
            return IDLE_S
        return SOON_S if self._has_room else BUSY_S

    def take_clock_step_ms(self) -> int:
        """The last step of the wall clock since the last call; 0 if there was none."""
        step_ms, self._clock_step_ms = self._clock_step_ms, 0
        return step_ms

    @property
    def _has_room(self) -> bool:
        return self._backlog.weight < min(CHECKPOINT_ROOM_BYTES, self._backlog.limit // 2)

    def _at(self, now: Now) -> ChangeTime:
        """The time of a record; a step of the clock is recorded before it."""
        time = self._timeline.at(now)
        if time.step_ms:
            self._clock_step_ms = time.step_ms
            self.sequencer.record(ClockChanged(step_ms=time.step_ms), time)
        return time

    def _put(self, records: Iterable[Record], time: ChangeTime) -> None:
        for record in records:
            self.sequencer.record(record, time)

    def _alive(self) -> ServerAlive:
        dropped, lost = self.sequencer.dropped_records, self._lost_records
        connections, changes = self._source.connections(), self.sequencer.dropped_changes
        return ServerAlive(connections=connections, dropped_changes=changes, dropped_records=dropped + lost)

    def _end_minute(self, now: Now, time: ChangeTime) -> None:
        self._put((self._alive(), *self._activity.flush(self._minute * MINUTE_MS)), time)
        self._minute = now.wall_ms // MINUTE_MS
        hour = now.wall_ms // HOUR_MS
        if hour != self._hour:
            self._steps.append(
                self._queue_lookups(lookup_hours(self._source.take_lookups(), self._hour * HOUR_MS))
            )
            self._hour = hour

    def _retention_may_ask(self, now: Now) -> bool:
        asked_ms = self._retention_asked_ms
        if asked_ms is not None and now.mono_ms - asked_ms < RETENTION_PAUSE_MS:
            return False
        self._retention_asked_ms = now.mono_ms
        return True

    # Checkpoints and lookup counts, step by step.

    def _do_steps(self, limit: int) -> None:
        for _ in range(limit):
            if not self._steps or not self._has_room:
                return
            if next(self._steps[0], self) is self:
                self._steps.popleft()

    def _begin_checkpoint(self, reason: str, snapshot: Snapshot, now: Now) -> None:
        """Queue the start of a checkpoint; its rows follow in later iterations."""
        self._checkpoint_due_ms = now.mono_ms + self._checkpoint_ms
        time = self._at(now)
        self._holes_covered = holes = self.sequencer.holes
        records = checkpoint_records(snapshot, reason, self._cluster_label)
        self.sequencer.record(next(records), time, mark=Mark.CHECKPOINT_BEGIN)
        self._steps.append(self._queue_rows(records, self.sequencer.last_seq, holes))

    def _queue_rows(self, records: Iterator[Record], begin: int, holes: int) -> Iterator[None]:
        """Queue the rows and the end of a checkpoint; stop after a loss, which makes it incomplete."""
        record = next(records)
        for following in records:
            if self.sequencer.holes != holes:
                return
            time = self._at(self._beginning or self._clock.now())
            self.sequencer.record(record, time, checkpoint=begin, must=True)
            record = following
            yield
        if self.sequencer.holes == holes:
            time = self._at(self._beginning or self._clock.now())
            self.sequencer.record(record, time, checkpoint=begin, mark=Mark.CHECKPOINT_END, must=True)

    def _queue_lookups(self, records: Iterable[Record]) -> Iterator[None]:
        for record in records:
            self.sequencer.record(record, self._at(self._clock.now()))
            yield


_ACTIVITY: Mapping[type, Callable[[Activity, Any, int], None]] = {
    BrokerHeard: Activity.heard,
    BrokerLiveChanged: Activity.live_changed,
    BrokerLiveGone: lambda activity, event, _: activity.live_gone(event),
}
