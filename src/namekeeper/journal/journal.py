"""The journal of a running server: what the event loop records, and the thread that writes it."""

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from namekeeper.clock import Clock
from namekeeper.journal.contract.record import ServerStarted
from namekeeper.journal.queue.backlog import Backlog
from namekeeper.journal.queue.messages import CheckpointNeeded, FolderReady, FolderRefused, WriterMessage
from namekeeper.journal.recording.recorder import Recorder, Source
from namekeeper.journal.settings import JournalSettings, WriterSettings

if TYPE_CHECKING:
    from namekeeper.journal.disk.writer import Writer

__all__ = ["Journal", "Pauses"]

log = logging.getLogger("namekeeper.journal")

GROUP_S = 0.02
"""How long what comes together is collected before it is written."""
BUSY_S, IDLE_S = 0.05, 1.0
BREATH_S = 0.001
REST = 8
"""How long a pause in long work is, compared with the work before it.

The event loop gives the interpreter away at each system call, and gets it back only when this thread pauses:
without pauses a storm of registrations would slow everybody for seconds. What waits for the interpreter
counts as work, so the busier the event loop is the longer the pauses; the journal catches up when it is not.
"""
LONGEST_S = 0.1
"""Work may have waited for a slow disk: that needs no pause, and must not make a long one."""
HURRIED_REST = 0.5
"""The same when the queue is filling: rather slow than with holes."""
AFTER_A_BUG_S = 1.0


class Journal:
    """In this order: `recorder.begin` before the first request, `start`, `tick` on and on, `end`, `join`."""

    def __init__(self, settings: JournalSettings, source: Source, *, clock: Clock) -> None:
        """Prepare.

        Args:
            settings: How.
            source: What there is to record.
            clock: The time.
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
        )
        self._port = 0
        self._writer: Writer | None = None
        self._thread: threading.Thread | None = None
        self._is_stopping = False

    @property
    def writer(self) -> "Writer | None":
        """What writes; there soon after `start`."""
        return self._writer

    @property
    def waiting(self) -> int:
        """Changes that wait for the disk."""
        return len(self._backlog)

    @property
    def dropped_records(self) -> int:
        """Records that did not get into a file."""
        lost = self._writer.lost_records if self._writer is not None else 0
        return self.recorder.sequencer.dropped_records + lost

    @property
    def trouble(self) -> str:
        """What is wrong, in one line; empty if nothing is."""
        if self._writer is not None and self._writer.trouble:
            return self._writer.trouble
        if self.recorder.is_incomplete:
            return f"{self.dropped_records} records were dropped; a checkpoint follows"
        return ""

    def start(self, writer: WriterSettings, port: int) -> None:
        """Let the thread begin: it opens the folder, and writes what was recorded so far.

        Args:
            writer: Where and how it writes.
            port: Where this server listens.
        """
        self._port = port
        self._thread = threading.Thread(target=self._run, args=(writer,), name="JournalThread", daemon=True)
        self._thread.start()

    def tick(self) -> float:
        """Do what is due, on the event loop; says in how many seconds to call again."""
        writer = self._writer
        if writer is None:
            return IDLE_S
        while writer.messages:
            self._handle(writer.messages.popleft())
        seconds = self.recorder.tick(lost_records=writer.lost_records, is_writable=not writer.trouble)
        step_ms = self.recorder.take_clock_step_ms()
        if step_ms:
            writer.note_clock_step(step_ms, self._clock.now())
        return seconds

    def end(self) -> None:
        """Record the end and have the thread finish."""
        self.recorder.end()
        self._is_stopping = True
        self._backlog.wake()

    def join(self, seconds: float) -> bool:
        """Wait until everything is on disk, at most so long; blocks. Says whether it is."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        if self._thread.is_alive():
            log.error("the journal's disk hangs: %d changes are not written", self.waiting)
            return False
        return True

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
        """The first record of a boot; made by the writer."""
        assert self._writer is not None
        opened = self._writer.opened
        assert opened is not None
        return ServerStarted(
            uuid=opened.uuid,
            server_version=self._settings.server_version,
            previous_boot=opened.previous_boot,
            previous_seq=opened.previous_seq,
            scan_interval_ms=self._settings.scan_interval_ms,
            port=self._port,
        )

    def _rest(self) -> float:
        if self._is_stopping:
            return 0
        return HURRIED_REST if self._backlog.is_filling else REST

    def _run(self, settings: WriterSettings) -> None:
        # Imported here: the port answers before.
        from namekeeper.journal.disk.writer import Writer

        pauses = Pauses(self._rest)
        self._writer = writer = Writer(settings, self._backlog, breathe=pauses.take)
        while not self._is_stopping:
            pauses.begin()
            try:
                writer.step(self._clock.now())
            except Exception:
                log.exception("a bug in the journal's writer")
                time.sleep(AFTER_A_BUG_S)
            self._backlog.wait(IDLE_S if writer.is_idle else BUSY_S)
            if not self._is_stopping:
                time.sleep(GROUP_S)
        try:
            writer.close(self._clock.now())
        except Exception:
            log.exception("a bug in the journal's writer")


class Pauses:
    """Pauses in proportion to the work between them; belongs to the writer's thread."""

    def __init__(self, rest: Callable[[], float]) -> None:
        """Prepare; `rest` says how many times as long as the work a pause is; 0: no pause."""
        self._rest = rest
        self._since = 0.0

    def begin(self) -> None:
        """Work begins."""
        self._since = time.perf_counter()

    def take(self) -> None:
        """Pause."""
        rest = self._rest()
        if rest:
            worked = time.perf_counter() - self._since
            time.sleep(min(max(BREATH_S, rest * worked), LONGEST_S))
        self.begin()
