"""The journal of a running server: connects the recorder on the event loop and the writer in its thread."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from msgspec import structs

from namekeeper.clock import Clock, machine_boot
from namekeeper.journal.contract.record import ServerStarted
from namekeeper.journal.disk.heard_file import HeardTimes
from namekeeper.journal.disk.writer import Writer
from namekeeper.journal.queue.backlog import Backlog
from namekeeper.journal.queue.messages import CheckpointNeeded, FolderReady, FolderRefused, WriterMessage
from namekeeper.journal.recording.recorder import Recorder
from namekeeper.journal.recording.source import Source
from namekeeper.journal.settings import JournalSettings, WriterSettings
from namekeeper.model.now import Now
from namekeeper.route.missing import MissingRows

__all__ = ["Journal", "Pauses", "StopTime"]

log = logging.getLogger("namekeeper.journal")

GROUP_S = 0.02
"""Pause between two steps of the writer, in which changes collect: they are then written together."""
BUSY_S, IDLE_S = 0.05, 1.0
SHORTEST_PAUSE_S = 0.001
PAUSE_RATIO = 8
"""How long a pause of the writer is, as a multiple of the work before it.

The event loop releases the interpreter lock at each system call, and gets it back only when this thread
pauses: without pauses a burst of registrations would slow down all answers for seconds. Waiting for the lock
counts as work, so pauses are longer while the event loop is busy; the journal catches up when it is idle.
"""
LONGEST_PAUSE_S = 0.1
"""The limit of a pause: waiting for a slow disk counts as work too, and must not cause a long pause."""
SHORT_PAUSE_RATIO = 0.5
"""Ratio of a pause while the queue is filling: slower answers are better than dropped changes."""
AFTER_A_BUG_S = 1.0
LOOK_S = 0.1
"""Interval of the looks at the writer's progress when the server stops."""
HANG_S = 1.0
"""A writer without progress for so long waits for the disk."""
HEARD_MS = 1_000
"""Least time between two lists of when each broker was last heard; at least 1 ms for each broker. The event
loop makes the list, in a few microseconds for each broker."""


class Journal:
    """The journal of a server.

    Call in this order: `recorder.begin` before the first request, `start`, `tick` repeatedly, `end`, `join`.
    """

    def __init__(self, settings: JournalSettings, source: Source, *, clock: Clock) -> None:
        """Prepare.

        Args:
            settings: How the server records.
            source: Functions that read the rest of the recorded data, besides changes.
            clock: Gives the times of the records.
        """
        self._settings = settings
        self._clock = clock
        self._backlog = Backlog(settings.queue_bytes)
        self.recorder = Recorder(
            source,
            self._backlog,
            clock=clock,
            started=self._server_started,
            checkpoint_ms=settings.checkpoint_ms,
            cluster_label=settings.cluster_label,
        )
        self._port = 0
        self._writer: Writer | None = None
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._has_hurry = False
        self._machine = ""
        self._heard_due_ms = 0
        self._heard_at_end: HeardTimes | None = None
        self._missing = source.missing
        self._missing_noted = 0
        """`Missing.revision` when the writer got the missing brokers last."""
        self._missing_at_end: Callable[[], MissingRows] | None = None
        self._bug = ""
        """The exception that ended the last step of the writer, if the disk was not its cause."""
        self._step_since: float | None = None
        """When the present step of the writer began, by `time.monotonic`; None between two steps."""

    @property
    def writer(self) -> Writer | None:
        """The writer; None until its thread has started."""
        return self._writer

    @property
    def waiting(self) -> int:
        """Number of queued changes."""
        return len(self._backlog)

    @property
    def dropped_records(self) -> int:
        """Records that were dropped or lost since the process started."""
        lost = self._writer.lost_records if self._writer is not None else 0
        return self.recorder.sequencer.dropped_records + lost

    @property
    def trouble(self) -> str:
        """The present problem, in one line; empty if there is none."""
        if self._bug:
            return f"a bug in the journal's writer, see the log: {self._bug}"
        if self._writer is not None and self._writer.trouble:
            return self._writer.trouble
        if self.recorder.is_incomplete:
            return f"{self.dropped_records} records were dropped; a checkpoint follows"
        return ""

    @property
    def step_seconds(self) -> float:
        """How long the present step of the writer takes: long if the disk hangs; 0 between two steps."""
        since = self._step_since
        return 0.0 if since is None else time.monotonic() - since

    @property
    def is_writable(self) -> bool:
        """Whether the last step of the writer went well."""
        return self._writer is not None and not self._writer.trouble and not self._bug

    def start(self, writer: WriterSettings, port: int) -> None:
        """Start the thread: it opens the folder, and writes what was recorded so far.

        Args:
            writer: Where and how to write.
            port: The port at which this server listens.
        """
        self._port = port
        self._thread = threading.Thread(target=self._run, args=(writer,), name="JournalThread", daemon=True)
        self._thread.start()

    async def keep_ticking(self) -> None:
        """Call `tick` whenever it is due, until cancelled; a bug does not end it."""
        while True:
            try:
                seconds = self.tick()
            except Exception:
                log.exception("a bug in the journal")
                seconds = AFTER_A_BUG_S
            await asyncio.sleep(seconds)

    def tick(self) -> float:
        """Do the work that is due on the event loop; returns the seconds until the next call."""
        writer = self._writer
        if writer is None:
            return IDLE_S
        self._handle_messages(writer)
        seconds = self.recorder.tick(lost_records=writer.lost_records, is_writable=self.is_writable)
        now = self._clock.now()
        step_ms = self.recorder.take_clock_step_ms()
        if step_ms:
            writer.note_clock_step(step_ms, now)
        if now.mono_ms >= self._heard_due_ms:
            self._note_heard(writer, now)
        self._note_missing(writer)
        return seconds

    def hurry(self) -> None:
        """Write without pauses from now on: nobody waits for the event loop any more."""
        self._has_hurry = True

    def end(self, *, is_stopped: bool = True) -> None:
        """Record the stop, and let the thread finish.

        Args:
            is_stopped: Whether the server stops. Otherwise it goes on, and only recording ends.
        """
        if self._writer is not None:
            self._handle_messages(self._writer)
        if self._missing.revision != self._missing_noted:
            self._missing_at_end = self._missing.rows()
        self._heard_at_end = self._times(self._clock.now())
        self.recorder.end(is_stopped=is_stopped)
        self._is_stopping = True
        self._backlog.wake()

    def join(self, seconds: float, *, at_most: float = 0.0) -> bool:
        """Block until everything is on disk, or the time is over; return whether everything is on disk.

        Args:
            seconds: the time.
            at_most: the time while the writer makes progress, if that is more.
        """
        if self._thread is None:
            return True
        time_left = StopTime(time.monotonic(), seconds, at_most)
        while self._thread.is_alive() and not time_left.is_over(time.monotonic(), self._writer):
            self._thread.join(LOOK_S)
        if not self._thread.is_alive():
            return True
        if self._writer is not None and self._writer.is_settled:
            log.info("the journal is on disk; the next start seals its last segments")
            return True
        if time_left.is_moving:
            log.error("the stop leaves the journal no more time: %d changes are not written", self.waiting)
        else:
            log.error("the journal's disk hangs: %d changes are not written", self.waiting)
        return False

    def _note_heard(self, writer: Writer, now: Now) -> None:
        """Have the writer write at once, beside the records, when brokers were last heard."""
        times = self._times(now)
        if times is not None:
            writer.note_heard(times)
            self._backlog.wake()
        self._heard_due_ms = now.mono_ms + max(HEARD_MS, 0 if times is None else len(times.brokers))

    def _note_missing(self, writer: Writer) -> None:
        """Have the missing brokers written beside the records, if they have changed."""
        if self._missing.revision != self._missing_noted:
            self._missing_noted = self._missing.revision
            writer.note_missing(self._missing.rows())

    def _times(self, now: Now) -> HeardTimes | None:
        """When brokers were last heard; None while nothing is recorded."""
        recorder = self.recorder
        heard = recorder.last_heard()
        if heard is None:
            return None
        return HeardTimes(
            0, heard, self._machine, recorder.began_ms, ts=now.wall_ms, seq=recorder.sequencer.last_seq,
            is_observed=bool(self._settings.observed_addr),
        )  # fmt: skip

    def _handle_messages(self, writer: Writer) -> None:
        while writer.messages:
            self._handle(writer.messages.popleft())

    def _handle(self, message: WriterMessage) -> None:
        if isinstance(message, FolderRefused):
            self.recorder.stop()
        elif isinstance(message, FolderReady):
            self.recorder.begin()
        elif isinstance(message, CheckpointNeeded):
            self.recorder.need_checkpoint(message.reason)
        else:
            self.recorder.note(message)

    def _server_started(self) -> ServerStarted:
        """The first record of a boot; called by the writer."""
        assert self._writer is not None
        opened = self._writer.opened
        assert opened is not None
        return ServerStarted(
            uuid=opened.uuid,
            server_version=self._settings.server_version,
            previous_boot=opened.previous_boot,
            previous_seq=opened.previous_seq,
            previous_alive_ts=opened.previous_alive_ts,
            scan_interval_ms=self._settings.scan_interval_ms,
            port=self._port,
            checksums=True,
            observed_addr=self._settings.observed_addr,
            restart=self._settings.restart if opened.previous_boot else "",
            cluster_label=self._settings.cluster_label,
        )

    def _pause_ratio(self) -> float:
        if self._is_stopping or self._has_hurry:
            return 0
        return SHORT_PAUSE_RATIO if self._backlog.is_filling else PAUSE_RATIO

    def _run(self, settings: WriterSettings) -> None:
        self._machine = machine_boot()
        pauses = Pauses(self._pause_ratio)
        self._writer = writer = Writer(settings, self._backlog, pause=pauses.take)
        while not self._is_stopping:
            pauses.begin()
            self._step_since = time.monotonic()
            try:
                writer.step(self._clock.now())
                self._bug = ""
            except Exception as error:
                bug = f"{type(error).__name__}: {error}"
                if bug != self._bug:  # the traceback once, not each second while it lasts
                    log.exception("a bug in the journal's writer")
                self._bug = bug
                time.sleep(AFTER_A_BUG_S)
            self._step_since = None
            has_work = self._backlog or writer.must_shrink  # a step does only a part of it
            if writer.trouble or not has_work:
                self._backlog.wait(IDLE_S if writer.is_idle else BUSY_S)
            if not self._is_stopping:
                time.sleep(GROUP_S)
        try:
            self._close(writer)
        except Exception:
            log.exception("a bug in the journal's writer")

    def _close(self, writer: Writer) -> None:
        """Write everything; the server may have stopped before this thread had a writer."""
        if self._missing_at_end is not None:
            writer.note_missing(self._missing_at_end)
        if self._heard_at_end is not None:
            writer.note_heard(structs.replace(self._heard_at_end, machine=self._machine))
        writer.close(self._clock.now())


class Pauses:
    """Pauses in proportion to the work between them; used in the writer's thread only."""

    def __init__(self, ratio: Callable[[], float]) -> None:
        """Prepare; `ratio` gives the length of a pause as a multiple of the work before it; 0: no pause."""
        self._ratio = ratio
        self._since = 0.0

    def begin(self) -> None:
        """Note that work begins."""
        self._since = time.perf_counter()

    def take(self) -> None:
        """Pause, then note that work begins."""
        ratio = self._ratio()
        if ratio:
            worked = time.perf_counter() - self._since
            time.sleep(min(max(SHORTEST_PAUSE_S, ratio * worked), LONGEST_PAUSE_S))
        self.begin()


class StopTime:
    """How long a stop waits for the writer: longer as long as the writer makes progress.

    Args:
        now: the start, in seconds of any steady clock.
        seconds: the time.
        at_most: the time while the writer makes progress, if that is more.
    """

    is_moving = False
    """Whether the writer made progress lately."""

    def __init__(self, now: float, seconds: float, at_most: float) -> None:
        self._end, self._last = now + seconds, now + max(seconds, at_most)
        self._moved_at = now
        self._progress: int | None = None

    def is_over(self, now: float, writer: Writer | None) -> bool:
        """Whether the time is over; call it repeatedly."""
        progress = 0 if writer is None else writer.progress
        has_moved = self._progress is not None and progress != self._progress
        self._progress = progress
        if has_moved:
            self._moved_at = now
        is_quiet = now - self._moved_at >= HANG_S
        self.is_moving = has_moved or (self.is_moving and not is_quiet)
        if now < self._end:
            return False
        return now >= self._last or is_quiet or (writer is not None and writer.is_settled)
