"""Sends each change of a topic to its watchers, once and in order, also after an interrupted connection."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from namekeeper.clock import Clock
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.http.watchers import WatchedChange, Watcher, WatchRefusal
from namekeeper.processor.recent_changes import (
    RecentChanges,
    Revision,
    RouteChange,
    TopicSets,
    topics_shown,
)
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.route.events import Change

if TYPE_CHECKING:
    from namekeeper.journal.reading.recent import RecentPart

__all__ = ["FEW_TOPICS", "WATCHED_LIMIT", "ChangeWatch", "Numbering", "RouteWatch"]

THIS_BOOT = sys.maxsize
"""The number of the present boot until the journal's folder is open."""
WATCHED_LIMIT = 100_000
"""Topics of all watchers, added up: about 40 MB. All of `httpWatchersLimit` fit with 50 topics each."""
FEW_TOPICS = 20
"""A watcher of so few topics is taken beyond that limit too: clients that watch many topics must not keep out
the others."""
UNTOLD_LIMIT = 1_000
"""Changes that wait until they are distributed to the watchers; beyond that, all watchers miss changes."""
TOPICS_AT_ONCE = 500
"""Topics of a change that are compared with those of the watchers in one step."""
PENDING_LIMIT = 100
"""Changes that may wait for one watcher; with more it has to read its routes again."""
PENDING_TOPICS_LIMIT = 1_000
"""Topics in these changes, added up."""
WOKEN_AT_ONCE = 16
"""Watchers that are woken together: each then takes about 100 us, and one topic may have thousands."""
WAKING_PAUSE_SECONDS = 0.005
DURABLE_SECONDS = 20.0
"""Longest wait of a watcher for records of this boot on the disk; usually a fifth of a second."""
DURABLE_LOOK_SECONDS = 0.02
PAUSE_SECONDS = 0.001
"""Length of a pause of the thread that reads the journal, so that lookups are answered meanwhile."""
_END = object()


class Numbering(Struct, frozen=True):
    """The journal's present numbering of changes."""

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


class ChangeWatch:
    """Keeps the newest changes of routes, and sends them to watchers.

    Args:
        numbering: returns the journal's numbering of changes; None while it records nothing: then changes are
            counted here.
        clock: the time.
        scheduler: distributes changes between other requests.
        watchers_limit: most watchers at once.
    """

    def __init__(
        self,
        numbering: Callable[[], Numbering | None],
        *,
        clock: Clock,
        scheduler: Scheduler,
        watchers_limit: int,
    ) -> None:
        self._numbering = numbering
        self._clock = clock
        self._scheduler = scheduler
        self.limit = watchers_limit
        self._own = Numbering(0, 0, clock.now().wall_ms)
        self._epoch = 0
        self._recent = RecentChanges(Revision(THIS_BOOT, 0))
        self._by_topic: dict[str, set[_TopicWatcher]] = {}
        self._watchers: set[_TopicWatcher] = set()
        self._watched = 0
        """Topics of all watchers, added up."""
        self._change_count = 0
        self._untold: deque[tuple[int, RouteChange]] = deque()
        """Changes that not every watcher has got yet, with their numbers, oldest first."""
        self._told = self._recent.last
        """Position up to which every watcher has got its changes, while some are not distributed."""
        self._telling: Iterator[None] | None = None
        """Distributes the first change that not every watcher has got."""
        self._is_telling = False
        self._catching_up = asyncio.Lock()
        """Held to find missed changes: many clients that come back together share one iteration."""
        self._to_wake: deque[_TopicWatcher] = deque()
        self._is_waking = False
        self._extending: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Number of watchers."""
        return len(self._watchers)

    def close(self) -> None:
        """End all watchers."""
        for each in list(self._watchers):
            each.close()

    def take(self, topics: TopicSets, cause: str, peer: str | None) -> None:
        """Take a change, right after it was recorded.

        Args:
            topics: those whose routes show it.
            cause: the request that asked for it, or the rule that made it.
            peer: the address of the requester; None: no request asked for it.
        """
        if topics == ():
            return
        self._own = structs.replace(self._own, seq=self._own.seq + 1)
        numbering = self._follow(newest=1)
        at = numbering.ts or self._clock.now().wall_ms
        revision = Revision(THIS_BOOT, numbering.seq)
        noted = RouteChange(revision, at, cause, peer, topics)
        if not self._untold:
            self._told = self._recent.last
        self._recent.add(noted)
        if not self._watchers:
            return
        self._change_count += 1
        self._untold.append((self._change_count, noted))
        if len(self._untold) > UNTOLD_LIMIT:
            self._miss_untold()
        elif not self._is_telling:
            self._is_telling = True
            self._scheduler.start(self._tell_some)

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
        """Start to watch; changes after a revision come first.

        Args:
            topics: the topics to watch.
            after: a revision as text; one that can't be read is too old. None: from now on.
        """
        refusal = self._refusal(topics)
        if refusal is not None:
            return refusal
        begin = None if after is None else self._parsed(after)
        if begin is not None and begin < self._recent.floor:
            await self._extend_back()
        watcher = _TopicWatcher(topics, self._leave, self._revision_of)
        if after is not None:
            await self._give_missed(watcher, begin)
        refusal = self._refusal(topics)  # others came meanwhile
        if refusal is not None:
            return refusal
        watcher.joined_at, watcher.position = self._change_count, self._recent.last
        self._watchers.add(watcher)
        self._watched += len(topics)
        for topic in topics:
            self._by_topic.setdefault(topic, set()).add(watcher)
        return watcher

    def _refusal(self, topics: frozenset[str]) -> WatchRefusal | None:
        if not self._follow().boot:
            return WatchRefusal.NOT_READY
        if len(self._watchers) >= self.limit:
            return WatchRefusal.FULL
        if len(topics) > FEW_TOPICS and self._watched + len(topics) > WATCHED_LIMIT:
            return WatchRefusal.MANY_TOPICS
        return None

    async def _give_missed(self, watcher: "_TopicWatcher", begin: Revision | None) -> None:
        """Give a watcher the changes after a revision, incrementally; afterwards it has all up to now."""
        epoch = self._epoch
        async with self._catching_up:
            while True:
                missed = None if begin is None or epoch != self._epoch else self._recent.since(begin)
                if missed is None:
                    watcher.miss()
                    return
                if not missed or watcher.has_missed:
                    return
                await self._scheduler.finish(self._put_missed(watcher, missed))
                begin = missed[-1].revision

    def _put_missed(
        self, watcher: "_TopicWatcher", missed: Iterable[RouteChange]
    ) -> Generator[None, None, None]:
        for change in missed:
            topics = yield from change.find_in(watcher.topics)
            if topics:
                watcher.put(self._seen(change, topics), change.revision)
            if watcher.has_missed:
                return
            yield

    # A change may have a million topics, and thousands may watch some of them: so it is distributed
    # incrementally, each change after the ones before it.

    def _tell_some(self) -> bool:
        """Distribute a little of the oldest change to watchers; return whether more remains."""
        if self._untold:
            if self._telling is None:
                self._telling = self._tell(*self._untold[0])
            if next(self._telling, _END) is _END:
                self._telling = None
                self._told = self._untold.popleft()[1].revision
        self._is_telling = bool(self._untold)
        return self._is_telling

    def _tell(self, number: int, change: RouteChange) -> Iterator[None]:
        """Give a change to its watchers; yields after each step."""
        topics_of = yield from self._topics_of(change)
        seen: dict[tuple[str, ...], WatchedChange] = {}  # shared by equal watchers: encoded once
        for watcher, topics in topics_of.items():
            if watcher.is_closed or watcher.joined_at >= number:  # it has left, or came later
                continue
            key = tuple(sorted(topics))
            watched = seen.get(key) or seen.setdefault(key, self._seen(change, list(key)))
            watcher.put(watched, change.revision)
            self._wake((watcher,))
            yield

    def _topics_of(
        self, change: RouteChange
    ) -> Generator[None, None, "Mapping[_TopicWatcher, AbstractSet[str]]"]:
        """The watchers of a change, and for each of them its topics that the change affects."""
        if change.topics is None:
            return {watcher: watcher.topics for watcher in self._watchers}
        found: dict[_TopicWatcher, set[str]] = {}
        work = 0
        for some in change.topics:
            rest = iter(some)
            while piece := tuple(islice(rest, TOPICS_AT_ONCE)):
                for topic in piece:
                    watchers = self._by_topic.get(topic, ())
                    for watcher in watchers:
                        found.setdefault(watcher, set()).add(topic)
                    work += 1 + len(watchers)
                    if work >= TOPICS_AT_ONCE:
                        work = 0
                        yield
        return found

    def _miss_untold(self) -> None:
        """Have every watcher read its routes again instead of the changes that were not distributed."""
        self._untold.clear()
        self._telling = None
        for watcher in self._watchers:
            watcher.miss()
            watcher.position = self._recent.last
        self._wake(self._watchers)

    def _revision_of(self, watcher: "_TopicWatcher") -> str | None:
        boot = self._follow().boot
        told = max(watcher.position, self._told if self._untold else self._recent.last)
        return str(Revision(boot, told.seq)) if boot else None

    def _wake(self, watchers: Iterable["_TopicWatcher"]) -> None:
        self._to_wake += watchers
        if self._to_wake and not self._is_waking:
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake_some)

    def _wake_some(self) -> None:
        for _ in range(min(WOKEN_AT_ONCE, len(self._to_wake))):
            self._to_wake.popleft().wake()
        self._is_waking = bool(self._to_wake)
        if self._is_waking:
            asyncio.get_running_loop().call_later(WAKING_PAUSE_SECONDS, self._wake_some)

    def _leave(self, watcher: "_TopicWatcher") -> None:
        if watcher not in self._watchers:
            return
        self._watchers.discard(watcher)
        self._watched -= len(watcher.topics)
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
            self._miss_untold()
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
        part = await DaemonThreads("reading for watchers", 1).run(_read, numbering.folder, until)
        if part is None or epoch != self._epoch or floor != self._recent.floor:
            return
        for change in part.changes:
            if change.revision.boot == numbering.boot:
                change.revision = Revision(THIS_BOOT, change.revision.seq)
        self._recent.extend_back(part.changes, part.floor)


class RouteWatch(ChangeWatch):
    """Watches the routes of this name server.

    Args:
        state: the state with the routes.
        numbering: see `ChangeWatch`.
        clock: the time.
        scheduler: distributes changes between other requests.
        watchers_limit: most watchers at once.
    """

    def __init__(
        self,
        state: NameServerState,
        numbering: Callable[[], Numbering | None],
        *,
        clock: Clock,
        scheduler: Scheduler,
        watchers_limit: int,
    ) -> None:
        super().__init__(numbering, clock=clock, scheduler=scheduler, watchers_limit=watchers_limit)
        self._state = state

    def changed(self, change: Change) -> None:
        """Take a change, right after it was made and recorded."""
        self.take(topics_shown(self._state.tables, change.events), change.cause, change.asked_by)


class _TopicWatcher:
    """A watcher; see `Watcher`."""

    def __init__(
        self,
        topics: frozenset[str],
        leave: "Callable[[_TopicWatcher], None]",
        revision_of: "Callable[[_TopicWatcher], str | None]",
    ) -> None:
        self.topics = topics
        self.is_closed = False
        self.has_missed = False
        """Whether some of its changes are not kept."""
        self.joined_at = 0
        """Number of the last change before it came."""
        self.position = Revision(0, 0)
        """The watcher has got all its changes up to this one."""
        self._leave = leave
        self._revision_of = revision_of
        self._pending: deque[WatchedChange] = deque()
        self._pending_topics = 0
        self._woken = asyncio.Event()

    def revision(self) -> str | None:
        """The revision up to which `take` has given, or will give, each change."""
        return self._revision_of(self)

    def put(self, change: WatchedChange, position: Revision) -> None:
        """Add a change, without waking the watcher."""
        self.position = position
        self._pending_topics += len(change.topics)
        if len(self._pending) >= PENDING_LIMIT or self._pending_topics > PENDING_TOPICS_LIMIT:
            self.miss()
        if not self.has_missed:
            self._pending.append(change)

    def miss(self) -> None:
        """Note that some of its changes are not kept."""
        self._pending.clear()
        self.has_missed = True

    def wake(self) -> None:
        """End its `wait`."""
        self._woken.set()

    def take(self) -> list[WatchedChange] | None:
        """The changes since the last call, in order; None if some of them are not kept any more."""
        changes = None if self.has_missed else list(self._pending)
        self._pending.clear()
        self._pending_topics = 0
        self.has_missed = False
        self._woken.clear()
        return changes

    async def wait(self, seconds: float) -> None:
        """Wait until `take` has a result, or it is closed, at most this long."""
        if self._pending or self.has_missed or self.is_closed:
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
