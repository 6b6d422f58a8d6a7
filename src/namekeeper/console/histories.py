"""The histories that the page shows: one for each name server, each read on as it grows."""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

import msgspec
from msgspec import Struct

from namekeeper.answers.incidents.lost_topics import TopicFinder
from namekeeper.console.earlier import EarlierParts, IsEnough, Use, records_in
from namekeeper.history.forgotten import SearchKind
from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey
from namekeeper.history.sources.source import HistorySource
from namekeeper.journal.reading.history import Step

__all__ = [
    "CAUSE_PART",
    "HISTORY_BYTES",
    "ChangesUntil",
    "EarlierQuery",
    "Followed",
    "FollowedHistory",
    "Histories",
    "HistoryLock",
    "SubjectHistory",
]

HISTORY_BYTES = 160 * 1024 * 1024
"""Default memory of all histories together: with a server of 100,000 topics, and Python itself, they fit into
the 512 MiB of a container."""
EARLIER_PART = 4
"""One of so many parts of the memory is for what was dropped and is read again."""
FORGOTTEN_PART = 16
"""One of so many parts of the memory is for the times and names of what was dropped."""
CAUSE_PART = 8
"""As much memory again as one of so many parts is for the history that a cause needs. Two causes are found at
once."""
_STEPS_AT_ONCE, _RECORDS_AT_ONCE = 500, 2_000
"""Steps applied in a row, and records in them; then requests of the page are answered."""

INCIDENT_NAMES = 100_000
"""Names of topics that may have had an incident, beside twice those that the history still has."""


class Followed(Struct):
    """A history, and the state of reading it."""

    history: History
    is_running: bool = False
    """Whether its name server runs now."""
    is_current: bool = False
    """Whether its last rows are those of the present."""
    progress: tuple[int, int] = (0, 1)
    """Number of parts that were read, and of all parts; equal once everything is read."""
    problem: str = ""
    """Why it can't be read; empty if it can."""
    notes: Sequence[str] = ()
    keeps_past: bool = False
    """Whether its source can say what the history dropped."""
    heard: Mapping[LiveKey, int] = {}
    """Live row -> when its broker was heard last, wall ms; of name servers that run and write it down."""
    incident_topics: TopicFinder = msgspec.field(default_factory=TopicFinder)
    """The topics that incidents may be about; of a history that begins with the last rows none."""

    @property
    def first(self) -> int | None:
        """Wall ms of the first instant about which anything can be said; None if there is none."""
        return self.history.coverage.knows_from if self.keeps_past else self.history.knows_from


class EarlierQuery(Struct, frozen=True):
    """The changes and rows that a view needs of the time before the shown histories."""

    instants: Collection[int] = ()
    """Wall ms; the states at these instants."""
    about: str | None = None
    """The only name whose topic rows are needed of the states; None: all are."""
    subject: tuple[Use, str] | None = None
    """One of `SUBJECTS`, and the name of the topic or broker of which everything is needed; None: nothing."""
    changes_until: int | None = None
    """Wall ms; the changes up to this instant. None: no changes."""
    is_enough: IsEnough = lambda _part: True
    """Whether a part has enough changes."""
    namesrv: str = ""
    """Id of the only name server whose changes are needed; empty: all."""


class ChangesUntil(Struct, frozen=True):
    """The changes of one name server up to an instant."""

    history: History
    since: int | None
    """Wall ms from which on every change is there; None: from the first record on."""
    is_read: bool = True
    """Whether it reaches the instant; if not, the changes did not fit into the memory, or are deleted."""


class SubjectHistory(Struct, frozen=True):
    """The history of one topic or one broker at one name server."""

    history: History
    has_older: bool
    """Whether its source can give what the history has dropped."""


class HistoryLock:
    """The lock of all histories: one thread changes them, or any number look at them. Looking goes first.

    A thread that takes a lock again as soon as it released the lock would starve all other threads.
    """

    def __init__(self) -> None:
        self._lookers = 0
        self._is_changing = False
        self._turn = threading.Condition()

    @property
    def is_wanted(self) -> bool:
        """Whether somebody looks or wants to."""
        return self._lookers > 0

    def __enter__(self) -> None:
        """Hold it to change a history, as soon as nobody looks or wants to."""
        with self._turn:
            self._turn.wait_for(lambda: not self.is_wanted and not self._is_changing)
            self._is_changing = True

    def __exit__(self, *_: object) -> None:
        with self._turn:
            self._is_changing = False
            self._turn.notify_all()

    def wait_for_lookers(self) -> None:
        """Wait until nobody looks or wants to."""
        with self._turn:
            self._turn.wait_for(lambda: not self.is_wanted)

    @contextmanager
    def to_look(self) -> Iterator[None]:
        """Hold it to look, while others may look, too: some views take seconds."""
        with self._turn:
            self._lookers += 1
        try:
            with self._turn:
                self._turn.wait_for(lambda: not self._is_changing)
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
        self._incident_topics = TopicFinder()
        self._most_names = INCIDENT_NAMES
        """Beyond so many names in it, those that the history has dropped are forgotten."""
        self.followed = Followed(self._history, keeps_past=source.keeps_past)
        self._parts = EarlierParts(namesrv, source)

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
            followed.history, followed.incident_topics = self._history, self._incident_topics
        present = steps.present(self._history.coverage)
        with lock:
            self._history.extend(present.until)
        followed.problem, followed.notes = steps.problem, steps.notes
        followed.is_running, followed.heard = present.is_running, present.heard
        followed.is_current = present.until is not None
        followed.progress = steps.progress
        return bool(count) or before != (followed.problem, followed.is_running)

    def bound(self, limit_bytes: int) -> None:
        """Bound the memory; parts of it are for dropped changes, if the source can give them again."""
        forgotten, parts = self._history.forgotten, self._parts
        if self._source.keeps_past:
            parts.limit_bytes = limit_bytes // EARLIER_PART
            forgotten.limit_bytes = limit_bytes // FORGOTTEN_PART
        self._history.limit_bytes = limit_bytes - parts.limit_bytes - forgotten.limit_bytes

    def has_dropped(self, at: int) -> bool:
        """Whether its source can say what was dropped of an instant, wall ms."""
        dropped, first = self._dropped_until, self.followed.first
        return dropped is not None and first is not None and first <= at < dropped

    def history_at(self, at: int, about: str | None = None) -> History:
        """The history that knows an instant: one that was read again, or that of all steps."""
        found = self._parts.at(at, about) if self.has_dropped(at) else None
        return found or self.followed.history

    def changes_until(self, until: int | None) -> ChangesUntil:
        """The changes up to an instant (wall ms), as far as they are in memory; None: up to the last one."""
        history, dropped = self.followed.history, self._dropped_until
        if dropped is None:
            return ChangesUntil(history, None)
        if until is None or dropped < until:
            return ChangesUntil(history, dropped + 1)
        part = self._parts.changes(until)
        if part is None:
            return ChangesUntil(history, None, is_read=False)
        return ChangesUntil(part.history, part.since)

    def subject_history(self, use: Use, name: str) -> SubjectHistory:
        """The history of a topic or a broker, with the older part if it was read again."""
        history, dropped = self.followed.history, self._dropped_until
        if dropped is None:
            return SubjectHistory(history, has_older=False)
        earlier = self._parts.subject(use, name, dropped)
        if earlier is None or earlier.knows_from is None:
            return SubjectHistory(history, has_older=True)
        return SubjectHistory(history.continued_from(earlier), has_older=False)

    def needs(self, query: EarlierQuery) -> bool:
        """Whether something was dropped that a view needs, and that its source can give."""
        dropped = self._dropped_until
        if dropped is None:
            return False
        has_dropped = any(map(self.has_dropped, query.instants))
        return query.subject is not None or has_dropped or self._needs_changes(query)

    def read_earlier(self, query: EarlierQuery) -> None:
        """Read again what was dropped and a view needs; nothing is kept of more than the memory for it.

        One thread at a time.

        Raises:
            NamekeeperError: the source can't be read.
        """
        dropped, first = self._dropped_until, self.followed.first
        if dropped is None or first is None:
            return
        for at in filter(self.has_dropped, query.instants):
            self._parts.read_instant(at, query.about)
        if query.changes_until is not None and self._needs_changes(query):
            self._parts.read_changes(query.changes_until, first, query.is_enough)
        if query.subject is not None:
            self._parts.read_subject(*query.subject, dropped)

    @property
    def _dropped_until(self) -> int | None:
        """Wall ms of the last change that was dropped and that its source can give again; None: none."""
        return self.followed.history.dropped_until if self._source.keeps_past else None

    def _needs_changes(self, query: EarlierQuery) -> bool:
        dropped, until = self._dropped_until, query.changes_until
        is_wanted = query.namesrv in {"", self.namesrv}
        return is_wanted and dropped is not None and until is not None and until <= dropped

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
            self._incident_topics.take(step)
            self._parts.note(step)
            taken += 1
            records += records_in(step)
            if taken >= _STEPS_AT_ONCE or records >= _RECORDS_AT_ONCE:
                break
        if self._incident_topics.names > self._most_names:
            self._incident_topics.keep(set(self._history.topics()))
            self._most_names = 2 * self._incident_topics.names + INCIDENT_NAMES
        return taken


class Histories:
    """All histories that the page shows.

    Args:
        sources: where the histories of all name servers come from.
        limit_bytes: bounds the memory of all of them together. Each may use the same share of it.
    """

    def __init__(self, sources: Iterable[HistorySource], limit_bytes: int = HISTORY_BYTES) -> None:
        found = [FollowedHistory(name, each) for each in sources for name in each.namesrvs()]
        self._limit_bytes = limit_bytes
        self.all: Sequence[FollowedHistory] = ()
        """The history of each name server, by their ids; never changed, but replaced."""
        self._show(found)
        self._reading = threading.Lock()
        self.lock = HistoryLock()
        """A thread holds it to change a history or to look at it."""
        self.revision = 0
        """Number of changes of the shown histories."""

    def prepared(self, namesrv: str, source: HistorySource) -> FollowedHistory:
        """The history of a further name server, which may be read before it is added."""
        history = FollowedHistory(namesrv, source)
        history.bound(self._limit_bytes // (len(self.all) + 1))
        return history

    def add(self, history: FollowedHistory) -> None:
        """Show a further history; each one then has a smaller share of the memory."""
        with self.lock:
            self._show([*self.all, history])
            self.revision += 1

    def remove(self, history: FollowedHistory) -> None:
        """Show a history no more; each of the others then has a larger share of the memory."""
        with self.lock:
            self._show([each for each in self.all if each is not history])
            self.revision += 1

    def _show(self, found: Sequence[FollowedHistory]) -> None:
        for each in found:
            each.bound(self._limit_bytes // len(found))
        self.all = sorted(found, key=lambda each: each.namesrv)

    @property
    def followed(self) -> Sequence[Followed]:
        """The histories, by the ids of their name servers."""
        return [each.followed for each in self.all]

    @property
    def shown(self) -> list[History]:
        """The histories in memory, by the ids of their name servers."""
        return [each.history for each in self.followed]

    def dropped_names(self, kind: SearchKind) -> set[str]:
        """The names that only dropped changes have."""
        return {name for each in self.shown for name in each.forgotten.names[kind]}

    def note_change(self) -> None:
        """Count a change of something else that the page shows, so that it looks again. Thread-safe."""
        self._note(has_changed=True)

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

    def needs(self, query: EarlierQuery) -> bool:
        """Whether a source has to be read again."""
        return any(each.needs(query) for each in self.all)

    @contextmanager
    def earlier(self, query: EarlierQuery) -> Iterator[None]:
        """Have what was dropped read again, by one thread at a time.

        Raises:
            NamekeeperError: a source can't be read.
        """
        if not self.needs(query):
            yield
            return
        with self._reading:
            for each in self.all:
                each.read_earlier(query)
            yield

    def _note(self, *, has_changed: bool) -> None:
        if has_changed:
            with self.lock:
                self.revision += 1
