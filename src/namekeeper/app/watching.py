"""Sends each change of a topic to its watchers, once and in order, also after an interrupted connection."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from namekeeper.clock import Clock
from namekeeper.http.watchers import WatchedChange, Watcher, WatchRefusal
from namekeeper.processor.recent_changes import RecentChanges, Revision, RouteChange, topics_shown
from namekeeper.processor.state import NameServerState
from namekeeper.route.events import Change

if TYPE_CHECKING:
    from namekeeper.journal.reading.recent import RecentPart

__all__ = ["Numbering", "RouteWatch"]

THIS_BOOT = sys.maxsize
"""The number of the present boot until the journal's folder is open."""
PENDING_LIMIT = 100
"""Changes that may wait for one watcher; with more it has to read its routes again."""
WOKEN_AT_ONCE = 16
"""Watchers that are woken in one turn: each takes some 100 us, and one topic may have thousands."""
TURN_SECONDS = 0.005
DURABLE_SECONDS = 20.0
"""How long a watcher waits until records of this boot are on the disk; usually a fifth of a second."""
DURABLE_LOOK_SECONDS = 0.02
PAUSE_SECONDS = 0.001
"""Length of a pause of the thread that reads the journal, so that look-ups are answered meanwhile."""


class Numbering(Struct, frozen=True):
    """How the journal numbers changes now."""

    epoch: int
    """If it differs, the numbers started again."""
    seq: int
    """Seq of the last record."""
    boot: int = 0
    """0 until the folder is open."""
    durable_seq: int = 0
    folder: str = ""
    ts: int = 0
    """Wall ms of the last record; 0 if that is not known."""


class RouteWatch:
    """Keeps the newest changes, and sends them to watchers.

    Args:
        state: the state with the routes.
        numbering: gives the journal's numbering of changes; None while it records nothing: then changes are
            counted here.
        clock: the time.
        watchers_limit: how many may watch at once.
    """

    def __init__(
        self,
        state: NameServerState,
        numbering: Callable[[], Numbering | None],
        *,
        clock: Clock,
        watchers_limit: int,
    ) -> None:
        self._state = state
        self._numbering = numbering
        self._clock = clock
        self._limit = watchers_limit
        self._own = Numbering(0, 0, clock.now().wall_ms)
        self._epoch = 0
        self._recent = RecentChanges(Revision(THIS_BOOT, 0))
        self._by_topic: dict[str, set[_TopicWatcher]] = {}
        self._watchers: set[_TopicWatcher] = set()
        self._to_wake: deque[_TopicWatcher] = deque()
        self._extending: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Number of watchers."""
        return len(self._watchers)

    def changed(self, change: Change) -> None:
        """Take a change, right after it was made and recorded."""
        shown = topics_shown(self._state.tables, change.events)
        if shown == ():
            return
        self._own = structs.replace(self._own, seq=self._own.seq + 1)
        numbering = self._follow(newest=1)
        at = numbering.ts or self._clock.now().wall_ms
        revision = Revision(THIS_BOOT, numbering.seq)
        noted = RouteChange(revision, at, change.cause, change.asked_by, shown)
        self._recent.add(noted)
        if self._by_topic:
            self._tell(noted)

    def revision(self) -> str | None:
        """The present revision as text; None until the number of this boot is known."""
        boot = self._follow().boot
        return str(Revision(boot, self._recent.last.seq)) if boot else None

    @property
    def position(self) -> tuple[int, Revision]:
        """(epoch of the numbering, present revision)."""
        self._follow()
        return self._epoch, self._recent.last

    def last_change(self, topic: str) -> tuple[tuple[int, Revision], WatchedChange | None]:
        """The newest kept change of a topic, and its position.

        If there is none, the position is the one after which every change is kept.
        """
        change = self._recent.newest(frozenset({topic}))
        if change is None:
            return (self._epoch, self._recent.floor), None
        return (self._epoch, change.revision), self._seen(change, [topic])

    async def watch(self, topics: frozenset[str], after: str | None) -> Watcher | WatchRefusal:
        """Begin to watch; changes after a revision come first.

        Args:
            topics: the topics to watch.
            after: a revision as text; one that can't be read is too old. None: from now on.
        """
        if not self._follow().boot:
            return WatchRefusal.NOT_READY
        if len(self._watchers) >= self._limit:
            return WatchRefusal.FULL
        begin = None if after is None else self._parsed(after)
        if begin is not None and begin < self._recent.floor:
            await self._extend_back()
        watcher = _TopicWatcher(topics, self._leave)
        if after is not None:
            self._give_missed(watcher, begin)
        self._watchers.add(watcher)
        for topic in topics:
            self._by_topic.setdefault(topic, set()).add(watcher)
        return watcher

    def _give_missed(self, watcher: "_TopicWatcher", begin: Revision | None) -> None:
        missed = None if begin is None else self._recent.since(begin)
        if missed is None:
            watcher.miss()
        for change in missed or ():
            topics = change.shown_in(watcher.topics)
            if topics:
                watcher.put(self._seen(change, topics))

    def _tell(self, change: RouteChange) -> None:
        """Give a change to its watchers, and wake a few of them at a time."""
        topics_of: dict[_TopicWatcher, list[str]] = {}
        for topic in change.shown_in(self._by_topic.keys()):
            for watcher in self._by_topic[topic]:
                topics_of.setdefault(watcher, []).append(topic)
        seen: dict[tuple[str, ...], WatchedChange] = {}  # one for all who watch the same: it is encoded once
        for watcher, topics in topics_of.items():
            watcher.put(seen.get(key := tuple(topics)) or seen.setdefault(key, self._seen(change, topics)))
        self._wake(topics_of)

    def _wake(self, watchers: Iterable["_TopicWatcher"]) -> None:
        is_waking = bool(self._to_wake)
        self._to_wake += watchers
        if self._to_wake and not is_waking:
            self._wake_some()

    def _wake_some(self) -> None:
        for _ in range(min(WOKEN_AT_ONCE, len(self._to_wake))):
            self._to_wake.popleft().wake()
        if self._to_wake:
            asyncio.get_running_loop().call_later(TURN_SECONDS, self._wake_some)

    def _leave(self, watcher: "_TopicWatcher") -> None:
        self._watchers.discard(watcher)
        for topic in watcher.topics:
            others = self._by_topic.get(topic, set())
            others.discard(watcher)
            if not others:
                self._by_topic.pop(topic, None)

    # Revisions are positions in the journal; they are counted here if it records nothing.

    def _follow(self, *, newest: int = 0) -> Numbering:
        """The present numbering; if it has changed, all older revisions are too old.

        Args:
            newest: 1 if the newest record belongs to a change that is just being added.
        """
        numbering = self._numbering() or self._own
        if numbering.epoch != self._epoch:
            self._epoch = numbering.epoch
            self._extending = None
            self._recent = RecentChanges(Revision(THIS_BOOT, numbering.seq - newest))
            for watcher in self._watchers:
                watcher.miss()
            self._wake(tuple(self._watchers))
        return numbering

    def _parsed(self, text: str) -> Revision | None:
        revision = Revision.parse(text)
        if revision is None or revision.boot != self._follow().boot:
            return revision
        return Revision(THIS_BOOT, revision.seq)

    def _seen(self, change: RouteChange, topics: list[str]) -> WatchedChange:
        boot, seq = change.revision
        revision = Revision(self._follow().boot if boot == THIS_BOOT else boot, seq)
        return WatchedChange(str(revision), topics, change.at, change.cause, change.peer)

    # Earlier changes are read from the journal, once.

    async def _extend_back(self) -> None:
        if self._extending is None:
            self._extending = asyncio.create_task(self._extend(self._epoch), name="reading for watchers")
        await asyncio.shield(self._extending)

    async def _extend(self, epoch: int) -> None:
        floor = self._recent.floor
        deadline = self._clock.now().mono_ms + DURABLE_SECONDS * 1_000
        while (  # noqa: ASYNC110 - once after a start
            self._follow().durable_seq < floor.seq and self._clock.now().mono_ms < deadline
        ):
            await asyncio.sleep(DURABLE_LOOK_SECONDS)
        numbering = self._follow()
        if numbering.durable_seq < floor.seq and epoch == self._epoch:
            self._extending = None  # the disk is slow: a later watcher will find the records
            return
        if not numbering.folder:
            return
        until = Revision(numbering.boot, floor.seq)
        part = await asyncio.to_thread(_read, numbering.folder, until)
        if part is None or epoch != self._epoch or floor != self._recent.floor:
            return
        for change in part.changes:
            if change.revision.boot == numbering.boot:
                change.revision = Revision(THIS_BOOT, change.revision.seq)
        self._recent.extend_back(part.changes, part.floor)


class _TopicWatcher:
    """A watcher; see `Watcher`."""

    def __init__(self, topics: frozenset[str], leave: "Callable[[_TopicWatcher], None]") -> None:
        self.topics = topics
        self.is_closed = False
        self._leave = leave
        self._pending: deque[WatchedChange] = deque()
        self._has_missed = False
        self._woken = asyncio.Event()

    def put(self, change: WatchedChange) -> None:
        """Add a change, without waking the watcher."""
        if len(self._pending) >= PENDING_LIMIT:
            self.miss()
        if not self._has_missed:
            self._pending.append(change)

    def miss(self) -> None:
        """Note that some of its changes are not kept."""
        self._pending.clear()
        self._has_missed = True

    def wake(self) -> None:
        """End its `wait`."""
        self._woken.set()

    def take(self) -> list[WatchedChange] | None:
        """The changes since the last call, in order; None if some of them are not kept any more."""
        changes = None if self._has_missed else list(self._pending)
        self._pending.clear()
        self._has_missed = False
        self._woken.clear()
        return changes

    async def wait(self, seconds: float) -> None:
        """Wait until there is something to take, or it is closed, at most this long."""
        if self._pending or self._has_missed or self.is_closed:
            return
        # Not `asyncio.timeout`: it takes three times as long, and a thousand may wait.
        timer = asyncio.get_running_loop().call_later(seconds, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            timer.cancel()

    def close(self) -> None:
        """Watch no more; may be called twice."""
        self.is_closed = True
        self._leave(self)
        self.wake()


def _read(folder: str, until: Revision) -> "RecentPart | None":
    # Imported here: most servers never need it.
    from namekeeper.journal.reading.recent import recent_part

    return recent_part(folder, until, lambda: time.sleep(PAUSE_SECONDS))
