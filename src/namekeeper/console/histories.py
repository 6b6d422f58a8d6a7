"""The histories that the page shows: one for each name server, each read on as it grows."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from msgspec import Struct

from namekeeper.answers.from_journal import QUIET_MS
from namekeeper.answers.row_changes import Key
from namekeeper.answers.row_versions import RowVersions
from namekeeper.clock import Clock, SystemClock
from namekeeper.errors import JournalError
from namekeeper.journal.disk.heard_file import load_heard
from namekeeper.journal.reading.following import JournalFollower
from namekeeper.journal.reading.history import Step
from namekeeper.journal.reading.reader import FoundJournal

__all__ = ["Followed", "FollowedSource", "Histories", "JournalHistory"]

_STEPS_AT_ONCE = 500
"""Steps applied in a row; then requests of the page are answered."""
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


class FollowedSource(Protocol):
    """The source of the history of a name server."""

    @property
    def followed(self) -> Followed:
        """The history, and the state of reading it."""
        ...

    def read(self, lock: threading.Lock) -> bool:
        """Read new steps, with the lock held while the history is changed; returns whether there were any."""
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
        """Whether no name server was writing at the last check."""
        self.followed = Followed(RowVersions(self._follower.namesrv))

    def read(self, lock: threading.Lock) -> bool:
        """Read new steps; returns whether anything shown has changed.

        Args:
            lock: held while the history is changed, and released in between.
        """
        followed = self.followed
        before = (followed.problem, followed.is_running)
        count = 0
        try:
            count = self._take(self._follower.new_steps(), lock)
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
        """When each broker was last heard, which a running name server writes to a file each second."""
        boots = self.followed.versions.coverage.boots
        if not self.followed.is_running or not boots:
            return {}
        times = load_heard(self._follower.found.folder).of_boot(boots[-1].boot)
        return {("live", *key): boots[-1].since + up_ms for key, up_ms in times.items()}

    def _extend(self) -> None:
        """Extend the last state to now if the name server runs and has not been silent for long."""
        versions = self.followed.versions
        last, now_ms = versions.coverage.knows_up_to, self._clock.now().wall_ms
        is_current = self.followed.is_running and last is not None and now_ms - last <= QUIET_MS
        versions.extend(now_ms if is_current else None)

    def _take(self, steps: Iterator[Step], lock: threading.Lock) -> int:
        count = 0
        while True:
            with lock:
                part = list(islice(steps, _STEPS_AT_ONCE))
                for step in part:
                    self.followed.versions.take(step)
                self.followed.progress = self._follower.progress
            count += len(part)
            if len(part) < _STEPS_AT_ONCE:
                return count


class Histories:
    """All histories that the page shows.

    Args:
        sources: the history of each name server.
    """

    def __init__(self, sources: Iterable[FollowedSource]) -> None:
        self._sources = sorted(sources, key=lambda source: source.followed.versions.namesrv)
        self.lock = threading.Lock()
        """Held while a history is changed or read."""
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

    def read(self, source: FollowedSource) -> bool:
        """Read new steps of one history; returns whether anything changed. Several threads may call it."""
        has_changed = source.read(self.lock)
        if has_changed:
            with self.lock:
                self.revision += 1
        return has_changed
