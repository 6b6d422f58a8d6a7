"""The journal of an observed name server: one period of observation is a boot.

The journal's time is that of the last answer, so nothing in it claims to know more than the answers say.
It ends without a stop: the name server goes on, and its state is unknown from the last answer on.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct

from namekeeper.daemon_threads import DaemonThreads
from namekeeper.journal.journal import Journal
from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.journal.recording.source import Source
from namekeeper.journal.settings import JournalSettings, WriterSettings
from namekeeper.model.now import Now
from namekeeper.route.events import Change

__all__ = ["JournalStatus", "ObservedJournal", "OpenJournal", "Restart"]

QUEUE_BYTES = 32 << 20
"""Changes that wait for a slow disk. Beyond this, recording stops, and goes on with a checkpoint."""
HANG_SECONDS = 5.0
"""A step of the writer that takes longer waits for the disk: an idle one takes some milliseconds."""
JOIN_SECONDS = 5.0
"""How long the end of a period waits for the disk."""


class Restart(StrEnum):
    """Whether the observed name server restarted since the period of observation before."""

    SEEN = "seen"
    """The connection to the name server was closed, and its tables began empty."""
    POSSIBLE = "possible"
    """The observer can't tell."""


class JournalStatus(Struct, frozen=True):
    """The state of the journal that keeps observed changes."""

    folder: str
    boot: int
    last_seq: int
    trouble: str
    """Why nothing is recorded now, or only later; empty if it is."""
    dropped_records: int
    waiting: int = 0
    """Changes that wait for the disk."""


class _AnswerClock:
    """The time of the last answer."""

    def __init__(self, now: Now) -> None:
        self.at = now

    def now(self) -> Now:
        """The time of the last answer."""
        return self.at


class ObservedJournal:
    """One period of observation, on its way to the disk.

    Args:
        settings: how to record; says what is observed.
        writer: where to write.
        port: of the observed name server.
        take_snapshot: gives what the name server has.
        now: the time of the answer with which the state is known.
    """

    def __init__(
        self, settings: JournalSettings, writer: WriterSettings, port: int,
        take_snapshot: Callable[[], Snapshot], now: Now,
    ) -> None:  # fmt: skip
        self._clock = _AnswerClock(now)
        source = Source(take_snapshot, connections=lambda: 0, take_lookups=dict)
        self._journal = Journal(settings, source, clock=self._clock)
        self._folder = writer.folder
        self._journal.recorder.begin(now)
        self._journal.start(writer, port)
        self._tick()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, no snapshot is taken: a thread changes the tables."""
        self._ticking.cancel()
        try:
            yield
        finally:
            self._tick()

    def answered(self, now: Now, changes: Iterable[Change]) -> None:
        """Note an answer, and record the changes that it shows."""
        self._clock.at = now
        for change in changes:
            self._journal.recorder.record(change, now)

    async def leave(self) -> None:
        """End the period at the last answer, and wait for the disk for some seconds."""
        self._ticking.cancel()
        self._journal.end(is_stopped=False)
        await DaemonThreads("end of a journal", 1).run(self._journal.join, JOIN_SECONDS)

    def _tick(self) -> None:
        self._ticking = asyncio.create_task(self._journal.keep_ticking(), name=f"journal in {self._folder}")

    def status(self) -> JournalStatus:
        """The state of the journal now."""
        journal = self._journal
        opened = None if journal.writer is None else journal.writer.opened
        return JournalStatus(
            folder=self._folder,
            boot=0 if opened is None else opened.boot,
            last_seq=journal.recorder.sequencer.last_seq,
            trouble=journal.trouble or self._hang(),
            dropped_records=journal.dropped_records,
            waiting=journal.waiting,
        )

    def _hang(self) -> str:
        """The line about a disk that hangs: it stays the same meanwhile. Empty if the disk does not hang."""
        if self._journal.step_seconds < HANG_SECONDS:
            return ""
        return f"{self._folder}: the disk hangs for more than {HANG_SECONDS:g} s: changes wait"


OpenJournal = Callable[[str, Callable[[], Snapshot], Now], ObservedJournal]
"""Opens the journal of a name server: whether it restarted, what it has, the time of the last answer."""
