"""The journal in a running server: making it from the settings, recording, start and stop.

The journal itself is imported after the server starts to listen; changes until then are kept in memory.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from namekeeper.app.watching import Numbering
from namekeeper.clock import Clock
from namekeeper.errors import RequestError
from namekeeper.http.stats import JournalStats
from namekeeper.journal.recording.snapshot import Snapshot, take_snapshot
from namekeeper.model.now import Now
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause, Change, TopicQueuesChanged
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand

if TYPE_CHECKING:
    from namekeeper.access.judged import JudgedRequest  # only a server with access rules needs it
    from namekeeper.journal.journal import Journal
    from namekeeper.journal.recording.recorder import Recorder
    from namekeeper.journal.recording.source import Source
    from namekeeper.journal.settings import JournalSettings, WriterSettings

__all__ = ["Beginning", "Journaling"]

log = logging.getLogger("namekeeper.journal")

STOP_SECONDS = 5.0
"""Default of the time that the disk gets when the server stops: 64 MiB take two seconds. Changes that are not
written by then are lost. Under an attack the queue may hold more, and a stop has to end."""
LOADING = -1
"""The numbering until the journal is loaded."""
REASON_LIMIT = 200
"""Characters of a remark that are kept as the reason of a denial."""


MAX_NOTES = 10_000
"""Changes that may wait until the journal is loaded, which takes less than a second. It takes 0.2 s to pass
them on. A fleet that comes back makes some hundreds."""
MAX_NOTED_ROWS = 1_000_000
"""Topic rows in these changes; each takes about 64 bytes."""


class Beginning(Struct):
    """The state when the server started to listen, and the changes until the journal was loaded."""

    now: Now
    snapshot: Snapshot
    notes: "list[Callable[[Recorder], None]]" = field(default_factory=list)
    rows: int = 0
    lost: int = 0
    """Number of changes beyond the limit. From the first of them on no change is kept, and a checkpoint
    records the result."""

    @property
    def taken(self) -> int:
        """Number of calls so far; each change adds one."""
        return len(self.notes) + self.lost

    def change(self, change: Change, now: Now) -> None:
        """Keep a change.

        Restored routes are always kept: the next restart needs them. The server has them before it opens the
        port.
        """
        must = change.cause is Cause.RESTORED
        now = self.now if must else now
        rows = 0 if must else sum(len(e.after) for e in change.events if isinstance(e, TopicQueuesChanged))
        is_full = len(self.notes) >= MAX_NOTES or self.rows + rows > MAX_NOTED_ROWS
        if not must and (self.lost or is_full):
            self.lost += 1
            return
        self.rows += rows
        self.notes.append(lambda recorder: recorder.record(change, now))

    def count(self, note: "Callable[[Recorder], None]") -> None:
        """Keep a call for the recorder that only counts something, if there is room."""
        if len(self.notes) < MAX_NOTES // 2:
            self.notes.append(note)

    def pass_on(self, recorder: "Recorder") -> None:
        """Record the kept changes and counts."""
        recorder.begin(self.now, self.snapshot)
        for note in self.notes:
            note(recorder)
        self.notes.clear()
        if self.lost:
            recorder.lose(self.lost)


class Journaling:
    """Connects the app with its journal; does nothing if `journalEnable` is off.

    Args:
        state: the state to record.
        clock: gives the present time.
        connections: gives the number of open connections.

    Raises:
        ConfigError: the id or the label can't be used.
    """

    def __init__(
        self, state: NameServerState, *, clock: Clock, connections: Callable[[], int] = lambda: 0
    ) -> None:
        settings = state.settings
        if settings.journal_namesrv_id or settings.cluster_label:
            from namekeeper.app.journal_settings import check_names

            check_names(settings)
        self._settings = settings
        self._state = state
        self._clock = clock
        self._connections = connections
        self._beginning: Beginning | None = None
        self._journal: Journal | None = None
        self._port = 0
        self._trouble = ""
        self._folder = ""

    # Events.

    def record(self, change: Change) -> None:
        """Record a change, and note the brokers that went with it."""
        self._state.missing.take(change, self._clock.now().wall_ms)
        if self._journal is not None:
            self._journal.recorder.record(change)
        elif self._beginning is not None:
            self._beginning.change(change, self._clock.now())

    def not_found(self, request: RemotingCommand) -> None:
        """Count a lookup of a topic without a route."""
        topic = (request.ext_fields or {}).get("topic")
        self._note(lambda recorder: recorder.unknown_topic(topic, request.language, request.version))

    def refused(self, request: RemotingCommand, remote_addr: str, error: Exception) -> None:
        """Count a request that was answered with an error, if the error is NO_PERMISSION."""
        if isinstance(error, RequestError) and error.code == ResponseCode.NO_PERMISSION:
            host = remote_addr.rpartition(":")[0].strip("[]")
            reason = error.remark.partition("\n")[0][:REASON_LIMIT]
            self._note(lambda recorder: recorder.denied(request.code, host, reason))

    def alive(self) -> None:
        """Record that the server goes on with the recorded state, though nothing changes."""
        self._note(lambda recorder: recorder.alive())

    def judged(self, request: "JudgedRequest") -> None:
        """Record the decision of access rules on a request."""

        def note(recorder: "Recorder") -> None:
            from namekeeper.journal.contract.activity import Access

            record = Access(
                code=request.code,
                allowed=request.decision.allowed,
                rule=request.decision.rule or "",
                mode=request.mode.value,
                user=request.user or "",
                claimed=request.claimed,
                certificate=request.certificate,
                about=request.about,
                count=1,
            )
            record.peer = request.peer
            recorder.access(record)

        self._note(note)

    def kept_out(self, request: RemotingCommand, channel: Channel, user: str) -> None:
        """Record and count a peer that asked to replace, or to end, a live broker of another host."""
        from namekeeper.access import judged, rules
        from namekeeper.processor.touched import names_touched

        decision = rules.Decision(allowed=False, rule=judged.PROTECT_BROKER_NAMES)
        self.refused(
            request,
            channel.remote_addr,
            RequestError(ResponseCode.NO_PERMISSION, judged.refusal_of(decision)),
        )
        self.judged(
            judged.JudgedRequest(
                code=request.code,
                peer=channel.remote_addr,
                decision=decision,
                mode=rules.AccessMode.ENFORCE,
                user=user or None,
                certificate=channel.certificate_name,
                about=judged.about(names_touched(self._state, request)),
            )
        )

    def _note(self, note: "Callable[[Recorder], None]") -> None:
        """Make a call that needs no time of its own on the recorder, now or once the journal is loaded."""
        if self._journal is not None:
            note(self._journal.recorder)
        elif self._beginning is not None:
            self._beginning.count(note)

    # Start and stop.

    def begin(self) -> None:
        """Take the state at which recording starts; call it before the first request."""
        if self._settings.journal_enable:
            self._beginning = Beginning(self._clock.now(), self._take_snapshot())

    async def run(self, port: int) -> None:
        """Load and start the journal, and call its `tick`, until cancelled.

        An error in the journal never stops the server.

        Args:
            port: the port on which the server listens.
        """
        self._port = port
        if self._beginning is None:
            return
        with contextlib.suppress(ImportError):  # `_start` reports the failure
            await asyncio.to_thread(_import_journal)
        journal = self._start()
        if journal is None:
            return
        await journal.keep_ticking()

    def hurry(self) -> None:
        """Have records written as fast as the disk takes them: the server stops."""
        if self._journal is not None:
            self._journal.hurry()

    async def stop(self, seconds: float = STOP_SECONDS, *, at_most: float = 0.0) -> bool:
        """Record the stop, and wait until everything is on disk; return whether it is.

        Args:
            seconds: the longest wait.
            at_most: the longest wait while the writer makes progress, if that is more.
        """
        journal = None if self._beginning is None else self._journal or self._start()
        if journal is None:  # nothing is recorded, which was logged before
            return True
        journal.end()
        return await asyncio.to_thread(journal.join, seconds, at_most=at_most)

    def _start(self) -> "Journal | None":
        """Start the journal; if that fails nothing is recorded, and `trouble` reports it."""
        try:
            self._journal = self._started()
        except Exception:
            log.exception("a bug in the journal: nothing is recorded")
            self._trouble = "it could not be started: see the log"
            self._beginning = None
        return self._journal

    def _started(self) -> "Journal":
        """Record the changes so far, and start the writer's thread."""
        make, make_source, journal_settings, writer_settings = _import_journal()
        beginning = self._beginning
        assert beginning is not None
        source = make_source(
            self._take_snapshot,
            self._connections,
            self._state.lookup_cache.take_counts,
            self._last_heard,
            self._state.missing,
        )
        journal = make(journal_settings(self._settings), source, clock=self._clock)
        beginning.pass_on(journal.recorder)
        where = writer_settings(self._settings, self._port)
        self._folder = where.folder
        journal.start(where, self._port)
        return journal

    def _take_snapshot(self) -> Snapshot:
        state = self._state
        return take_snapshot(state.tables, state.kv_config, state.config.values(), now=self._clock.now())

    def _last_heard(self) -> list[tuple[str, str, int]]:
        return [
            (live.cluster_name, live.broker_addr, live.heard_at_ms)
            for live in self._state.tables.broker_live_table
        ]

    # Status.

    def numbering(self) -> Numbering | None:
        """The present numbering of changes by the journal; None if it records nothing."""
        journal = self._journal
        if journal is None:
            return None if self._beginning is None else Numbering(LOADING, self._beginning.taken)
        if not journal.recorder.is_recording:
            return None
        opened = None if journal.writer is None else journal.writer.opened
        return Numbering(
            journal.recorder.sequencer.boots,
            journal.recorder.sequencer.last_seq,
            boot=0 if opened is None else opened.boot,
            durable_seq=0 if journal.writer is None else journal.writer.durable_seq,
            folder="" if opened is None else opened.folder,
            ts=journal.recorder.sequencer.last_ts,
        )

    @property
    def trouble(self) -> str:
        """The present problem, in one line; empty if there is none."""
        return self._journal.trouble if self._journal is not None else self._trouble

    def stats(self) -> JournalStats | None:
        """The present numbers; None without a journal."""
        journal = self._journal
        if journal is None or journal.writer is None:
            return None
        writer = journal.writer
        return JournalStats(
            last_seq=journal.recorder.sequencer.last_seq,
            durable_seq=writer.durable_seq,
            dropped_changes=journal.recorder.sequencer.dropped_changes,
            dropped_records=journal.dropped_records,
            queue_depth=journal.waiting,
            written_bytes=writer.written_bytes,
            disk_bytes=writer.disk_bytes,
            folder=self._folder,
            is_writable=journal.is_writable,
            namesrv="" if writer.opened is None else writer.opened.namesrv,
            boot=0 if writer.opened is None else writer.opened.boot,
        )


def _import_journal() -> (
    "tuple[type[Journal], type[Source], Callable[..., JournalSettings], Callable[..., WriterSettings]]"
):
    """Import the journal, first in a thread: its classes, and the functions that make its settings."""
    from namekeeper.app.journal_settings import journal_settings, writer_settings
    from namekeeper.journal.journal import Journal
    from namekeeper.journal.recording.source import Source

    return Journal, Source, journal_settings, writer_settings
