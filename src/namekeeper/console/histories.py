"""The histories that the page shows: one for each name server, each read on as it grows."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Protocol

from msgspec import Struct

from namekeeper.answers.from_journal import QUIET_MS, JournalFolder
from namekeeper.answers.row_changes import Key
from namekeeper.answers.row_versions import RowVersions
from namekeeper.clock import Clock, SystemClock
from namekeeper.errors import JournalError
from namekeeper.journal.disk.heard_file import load_heard
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.following import JournalFollower
from namekeeper.journal.reading.history import Changed, CheckpointApplied, Step
from namekeeper.journal.reading.reader import FoundJournal

__all__ = ["HISTORY_BYTES", "Followed", "FollowedSource", "Histories", "HistoryLock", "JournalHistory"]

HISTORY_BYTES = 160 * 1024 * 1024
"""Default memory of all histories together: with a server of 100,000 topics, and Python itself, they fit into
the 512 MiB of a container."""
_STEPS_AT_ONCE, _RECORDS_AT_ONCE = 500, 2_000
"""Steps applied in a row, and records in them; then requests of the page are answered."""
_LOOK_MS = 2_000
"""Interval at which it is checked whether a stopped name server runs again."""


class Followed(Struct):
    """A history, and the state of reading it."""

    versions: RowVersions
    is_running: bool = False
    """Whether its name server runs now."""
    progress: tuple[int, int] = (0, 1)
    """Number of parts that were read, and of all parts; equal once everything is read."""
    problem: str = ""
    """Why it can't be read; empty if it can."""
    notes: Sequence[str] = ()
    heard: Mapping[Key, int] = {}
    """Live row -> when its broker was heard last, wall ms; of name servers that run and write it down."""


class HistoryLock:
    """Held by whoever changes a history or looks at it; who looks goes first.

    A reader that takes a lock again as soon as it let it go would leave nobody else a turn.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lookers = 0
        self._turn = threading.Condition()

    @property
    def is_wanted(self) -> bool:
        """Whether somebody looks or wants to."""
        return self._lookers > 0

    def __enter__(self) -> None:
        """Hold it to change a history, as soon as nobody looks or wants to."""
        self.wait_for_lookers()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait_for_lookers(self) -> None:
        """Wait until nobody looks or wants to."""
        with self._turn:
            self._turn.wait_for(lambda: not self.is_wanted)

    @contextmanager
    def to_look(self) -> Iterator[None]:
        """Hold it to look."""
        with self._turn:
            self._lookers += 1
        try:
            with self._lock:
                yield
        finally:
            with self._turn:
                self._lookers -= 1
                self._turn.notify_all()


class FollowedSource(Protocol):
    """The source of the history of a name server."""

    @property
    def followed(self) -> Followed:
        """The history, and the state of reading it."""
        ...

    def begin(self, lock: HistoryLock, /) -> bool:
        """Show what is found at once, before everything is read; returns whether anything is shown now.

        Args:
            lock: held while the history is changed.
        """
        ...

    def read(self, lock: HistoryLock) -> bool:
        """Read what is new, holding the lock while the history is changed; returns whether anything is."""
        ...


class JournalHistory:
    """The history of a name server from its journal, also while that is written.

    Args:
        found: where the journal is.
        clock: gives the present time.
    """

    def __init__(self, found: FoundJournal, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._follower = JournalFollower(found)
        self._looked_ms = -_LOOK_MS
        self._is_idle = False
        """Whether no name server wrote when that was looked at last."""
        self._versions = RowVersions(self._follower.namesrv)
        """Of the whole journal; shown once all of it was read."""
        self.followed = Followed(self._versions)

    def begin(self, lock: HistoryLock, /) -> bool:
        """Show what it held last, before its journal is read: that is found at once, a month takes seconds.

        Args:
            lock: held while the history is changed.
        """
        try:
            found = JournalFolder(self._follower.found).state_at(None)
        except (JournalError, OSError):
            return False  # the same is found, and said, when everything is read
        if found.knowledge is not Knowledge.KNOWN:
            return False
        end = RowVersions(self._follower.namesrv)
        end.take(CheckpointApplied(boot=0, seq=0, ts=found.at, state=found.state))
        with lock:
            self.followed.versions = end
        return True

    def read(self, lock: HistoryLock) -> bool:
        """Read what is new; returns whether anything that is shown has changed.

        Args:
            lock: held while the history is changed, and released in between.
        """
        followed = self.followed
        before = (followed.problem, followed.is_running)
        count = 0
        try:
            count = self._take(self._follower.new_steps(), lock)
            followed.versions = self._versions
            was_idle = self._is_idle
            self._look_who_writes(has_new=bool(count))
            if was_idle and self._is_idle and not count:
                count = self._take(iter(self._follower.end_steps()), lock)
            followed.problem = ""
        except (JournalError, OSError) as error:
            followed.problem = str(error)
        followed.notes = self._follower.notes
        self._extend()
        followed.heard = self._heard()
        return bool(count) or before != (followed.problem, followed.is_running)

    def _look_who_writes(self, *, has_new: bool) -> None:
        """Check whether its name server runs; only at intervals while it does not."""
        now_ms = self._clock.now().mono_ms
        if self.followed.is_running or has_new or now_ms - self._looked_ms >= _LOOK_MS:
            self._looked_ms = now_ms
            self.followed.is_running = self._follower.is_written()
            self._is_idle = not self.followed.is_running

    def _heard(self) -> Mapping[Key, int]:
        """When each broker was heard last, as a running name server writes it down each second."""
        boots = self._versions.coverage.boots
        if not self.followed.is_running or not boots:
            return {}
        times = load_heard(self._follower.found.folder).of_boot(boots[-1].boot)
        return {("live", *key): boots[-1].since + up_ms for key, up_ms in times.items()}

    def _extend(self) -> None:
        """What a running name server held when it wrote last, it holds now, unless it is silent for long."""
        versions = self._versions
        last, now_ms = versions.coverage.knows_up_to, self._clock.now().wall_ms
        is_current = self.followed.is_running and last is not None and now_ms - last <= QUIET_MS
        versions.extend(now_ms if is_current else None)

    def _take(self, steps: Iterator[Step], lock: HistoryLock) -> int:
        """Apply steps one after the other: one change may have a hundred thousand rows."""
        count = 0
        while True:
            lock.wait_for_lookers()
            is_shown = self.followed.versions is self._versions
            with lock if is_shown else nullcontext():
                taken = self._take_some(steps)
                self.followed.progress = self._follower.progress
            count += taken
            if not taken:
                return count

    def _take_some(self, steps: Iterator[Step]) -> int:
        """Apply some steps; returns how many, 0 if there are no more."""
        taken = records = 0
        for step in steps:
            self._versions.take(step)
            taken += 1
            records += len(step.records) if isinstance(step, Changed) else 1
            if taken >= _STEPS_AT_ONCE or records >= _RECORDS_AT_ONCE:
                break
        return taken


class Histories:
    """All histories that the page shows.

    Args:
        sources: the history of each name server.
        limit_bytes: bounds the memory of all of them together. Each may use the same share of it.
    """

    def __init__(self, sources: Iterable[FollowedSource], limit_bytes: int = HISTORY_BYTES) -> None:
        self._sources = sorted(sources, key=lambda source: source.followed.versions.namesrv)
        for source in self._sources:
            source.followed.versions.limit_bytes = limit_bytes // len(self._sources)
        self.lock = HistoryLock()
        """Held by whoever changes a history or looks at it."""
        self.revision = 0
        """Number of changes of what is shown."""

    @property
    def followed(self) -> Sequence[Followed]:
        """The histories, by the ids of their name servers."""
        return [source.followed for source in self._sources]

    @property
    def sources(self) -> Sequence[FollowedSource]:
        """Where the histories come from."""
        return self._sources

    def begin(self, source: FollowedSource) -> bool:
        """Show what is found at once of one history; returns whether anything is. For any thread."""
        has_changed = source.begin(self.lock)
        self._note(has_changed=has_changed)
        return has_changed

    def read(self, source: FollowedSource) -> bool:
        """Read new steps of one history; returns whether anything changed. Several threads may call it."""
        has_changed = source.read(self.lock)
        self._note(has_changed=has_changed)
        return has_changed

    def _note(self, *, has_changed: bool) -> None:
        if has_changed:
            with self.lock:
                self.revision += 1
