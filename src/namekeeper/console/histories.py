"""The histories that the page shows: one for each name server, each read on as it grows."""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from msgspec import Struct

from namekeeper.answers.evidence import DAY_MS
from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey
from namekeeper.history.sources.source import HistorySource
from namekeeper.journal.reading.history import Changed, Step

__all__ = ["CAUSE_PART", "HISTORY_BYTES", "Followed", "FollowedHistory", "Histories", "HistoryLock"]

HISTORY_BYTES = 160 * 1024 * 1024
"""Default memory of all histories together: with a server of 100,000 topics, and Python itself, they fit into
the 512 MiB of a container."""
EARLIER_PART = 4
"""One of so many parts of the memory is for instants that were dropped and are read again."""
CAUSE_PART = 8
"""As much memory again as one of so many parts is for the history that a cause needs. Two causes are found at
once."""
_STEPS_AT_ONCE, _RECORDS_AT_ONCE = 500, 2_000
"""Steps applied in a row, and records in them; then requests of the page are answered."""


class Followed(Struct):
    """A history, and the state of reading it."""

    history: History
    is_running: bool = False
    """Whether its name server runs now."""
    progress: tuple[int, int] = (0, 1)
    """Number of parts that were read, and of all parts; equal once everything is read."""
    problem: str = ""
    """Why it can't be read; empty if it can."""
    notes: Sequence[str] = ()
    keeps_past: bool = False
    """Whether its source can say what the history dropped."""
    heard: Mapping[LiveKey, int] = {}
    """Live row -> when its broker was heard last, wall ms; of name servers that run and write it down."""

    @property
    def first(self) -> int | None:
        """Wall ms of the first instant about which anything can be said; None if there is none."""
        return self.history.coverage.knows_from if self.keeps_past else self.history.knows_from


class HistoryLock:
    """The lock of a history, for its writer and its readers; readers go first.

    A thread that takes a lock again as soon as it released the lock would starve all other threads.
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
        """Hold it to change a history, as soon as no reader holds it or waits for it."""
        self.wait_for_lookers()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait_for_lookers(self) -> None:
        """Wait until no reader holds it or waits for it."""
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


class FollowedHistory:
    """The history of a name server, which follows its steps.

    Args:
        namesrv: its id.
        source: where its steps come from.
    """

    def __init__(self, namesrv: str, source: HistorySource) -> None:
        self.namesrv = namesrv
        self._source, self._steps = source, source.steps(namesrv)
        self._history = History(namesrv)
        """History of all steps; shown once all of them were read."""
        self.followed = Followed(self._history, keeps_past=source.keeps_past)
        self._last_ts = 0
        self._put_back: list[tuple[int, tuple[int, int]]] = []
        """Where the clock was put back: time, boot and seq of the next step; in the order of all three."""
        self._limit_bytes = 0
        self._earlier: list[tuple[str | None, int, History]] = []
        """Name, last instant, and the history up to it; those that were read last come last."""
        self._in_vain: tuple[str | None, int] | None = None
        """Name and instant that were read last and did not fit: a page asks for the same again and again."""

    def begin(self, lock: HistoryLock) -> bool:
        """Show the rows that are found at once, before all steps are read; returns whether there are any.

        Args:
            lock: held while the history is changed.
        """
        end = self._steps.end()
        if end is None:
            return False
        with lock:
            self.followed.history = end
        return True

    def read(self, lock: HistoryLock) -> bool:
        """Read new steps; returns whether the shown history has changed.

        Args:
            lock: held while the history is changed, and released in between.
        """
        followed, steps = self.followed, self._steps
        before = (followed.problem, followed.is_running)
        count = self._take(iter(steps), lock)
        if not steps.problem:
            followed.history = self._history
        present = steps.present(self._history.coverage)
        with lock:
            self._history.extend(present.until)
        followed.problem, followed.notes = steps.problem, steps.notes
        followed.is_running, followed.heard = present.is_running, present.heard
        followed.progress = steps.progress
        return bool(count) or before != (followed.problem, followed.is_running)

    def bound(self, limit_bytes: int) -> None:
        """Bound the memory; a part of it is for dropped instants, if the source can give them again."""
        self._limit_bytes = limit_bytes // EARLIER_PART if self._source.keeps_past else 0
        self._history.limit_bytes = limit_bytes - self._limit_bytes

    def has_dropped(self, at: int) -> bool:
        """Whether its source can say what was dropped of an instant, wall ms."""
        dropped, first = self.followed.history.dropped_until, self.followed.first
        return self._source.keeps_past and dropped is not None and first is not None and first <= at < dropped

    def history_at(self, at: int, about: str | None = None) -> History:
        """The history that knows an instant: one that `read_earlier` has read, or that of all steps."""
        for each in reversed(self._earlier if self.has_dropped(at) else []):
            name, last, history = each
            if name in {None, about} and (history.knows_from or 0) <= at <= last:
                return history
        return self.followed.history

    def read_earlier(self, at: int, about: str | None) -> None:
        """Read again what was dropped of an instant; nothing is kept of more than the memory for it.

        One thread at a time.

        Args:
            at: wall ms.
            about: only rows of topics with this name are needed, see `History`; None: all.

        Raises:
            JournalError: the journal can't be read.
        """
        if not self.has_dropped(at) or self.history_at(at, about) is not self.followed.history:
            return
        if (about, at) == self._in_vain:
            return
        found = self._read_again(at, about)
        if found is None:
            self._in_vain = about, at
            return
        kept = [*self._earlier, (about, at, found)]
        while sum(history.size for _, _, history in kept) > self._limit_bytes:
            del kept[0]
        self._earlier = kept

    def _read_again(self, at: int, about: str | None) -> History | None:
        """A history that knows an instant; None if it does not fit, or no checkpoint before is complete."""
        for since in (at, at - DAY_MS):  # a checkpoint that was not completed has another before it
            found = self._read_part(at, about, since)
            if found is None or (found.knows_from is not None and found.knows_from <= at):
                return found
        return None

    def _read_part(self, at: int, about: str | None, since: int) -> History | None:
        """The history from a time until after an instant; None if it needs more memory than it may."""
        found = History(self.namesrv, about, limit_bytes=self._limit_bytes)
        needed = max((position for ts, position in self._put_back if ts <= at), default=(0, 0))
        for step in self._source.steps(self.namesrv, about, since):
            found.take(step)
            if found.size > self._limit_bytes:  # by the rows alone, without older changes
                return None
            if step.ts > at and (step.boot, step.seq) >= needed:  # no later step is of an earlier time
                break
        return found

    def _note_time(self, step: Step) -> None:
        if step.ts < self._last_ts:
            while self._put_back and self._put_back[-1][0] >= step.ts:
                self._put_back.pop()
            self._put_back.append((step.ts, (step.boot, step.seq)))
        self._last_ts = step.ts

    def _take(self, steps: Iterator[Step], lock: HistoryLock) -> int:
        """Apply steps one after the other: one change may have a hundred thousand rows."""
        count = 0
        while True:
            lock.wait_for_lookers()
            is_shown = self.followed.history is self._history
            with lock if is_shown else nullcontext():
                taken = self._take_some(steps)
            if not taken:
                return count
            count += taken
            done, parts = self._steps.progress
            if done < parts:  # `read` says that everything was read, when it shows everything
                self.followed.progress = (done, parts)

    def _take_some(self, steps: Iterator[Step]) -> int:
        """Apply some steps; returns how many, 0 if there are no more."""
        taken = records = 0
        for step in steps:
            self._history.take(step)
            self._note_time(step)
            taken += 1
            records += len(step.records) if isinstance(step, Changed) else 1
            if taken >= _STEPS_AT_ONCE or records >= _RECORDS_AT_ONCE:
                break
        return taken


class Histories:
    """All histories that the page shows.

    Args:
        sources: where the histories of all name servers come from.
        limit_bytes: bounds the memory of all of them together. Each may use the same share of it.
    """

    def __init__(self, sources: Iterable[HistorySource], limit_bytes: int = HISTORY_BYTES) -> None:
        found = [FollowedHistory(name, each) for each in sources for name in each.namesrvs()]
        self.all = sorted(found, key=lambda each: each.namesrv)
        """The history of each name server, by their ids."""
        for each in self.all:
            each.bound(limit_bytes // len(self.all))
        self._reading = threading.Lock()
        self.lock = HistoryLock()
        """A thread holds it to change a history or to look at it."""
        self.revision = 0
        """Number of changes of the shown histories."""

    @property
    def followed(self) -> Sequence[Followed]:
        """The histories, by the ids of their name servers."""
        return [each.followed for each in self.all]

    def begin(self, history: FollowedHistory) -> bool:
        """Show the part of one history that is found at once; returns whether there is any. Thread-safe."""
        has_changed = history.begin(self.lock)
        self._note(has_changed=has_changed)
        return has_changed

    def read(self, history: FollowedHistory) -> bool:
        """Read new steps of one history; returns whether anything changed. Several threads may call it."""
        has_changed = history.read(self.lock)
        self._note(has_changed=has_changed)
        return has_changed

    def has_dropped(self, instants: Iterable[int]) -> bool:
        """Whether a source has to be read again for some instants, wall ms."""
        return any(each.has_dropped(at) for at in instants for each in self.all)

    @contextmanager
    def earlier(self, instants: Collection[int], about: str | None) -> Iterator[None]:
        """Have what was dropped of some instants read again, by one thread at a time.

        Args:
            instants: wall ms.
            about: only rows of topics with this name are needed; None: all.

        Raises:
            JournalError: a journal can't be read.
        """
        if not self.has_dropped(instants):
            yield
            return
        with self._reading:
            for at in instants:
                for each in self.all:
                    each.read_earlier(at, about)
            yield

    def _note(self, *, has_changed: bool) -> None:
        if has_changed:
            with self.lock:
                self.revision += 1
