"""`GET /watch` of the page: changes of routes at the name servers whose journals are followed.

The changes are those of the journal, found as the server finds them after a restart, and sent as the server
sends them. The tables that this needs are in memory only while somebody watches a name server.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

from aiohttp import web

from namekeeper.access.peer import Peer
from namekeeper.app.watching import ChangeWatch, Numbering
from namekeeper.clock import Clock
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.errors import JournalError
from namekeeper.http.page_table import text_answer
from namekeeper.http.watch import WatchPage
from namekeeper.http.watchers import Watcher, WatchRefusal
from namekeeper.journal.reading.following import JournalFollower
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.journal.reading.recent import RouteChangeFinder
from namekeeper.processor.recent_changes import Revision, RouteChange
from namekeeper.remoting.scheduler import Scheduler

__all__ = ["WATCHERS_LIMIT", "FollowedRoutes", "FollowedWatch"]

WATCHERS_LIMIT = 2_000
"""Watchers of all name servers at once, as the server's `httpWatchersLimit` has by default."""
POLL_SECONDS = 0.25
"""Interval at which a watched journal is read on."""
LINGER_SECONDS = 30.0
"""How long a journal is read on after its last watcher has left: a long poll comes again."""
FIRST_READ_SECONDS = 10.0
"""How long a client waits until its journal was read once; then the answer says to ask again."""


class FollowedRoutes:
    """The changes of routes in a journal, while somebody watches; a `WatchSource`.

    Args:
        found: the journal.
        clock: the time.
        scheduler: distributes changes between requests of the page.
    """

    limit = WATCHERS_LIMIT

    def __init__(self, found: FoundJournal, *, clock: Clock, scheduler: Scheduler) -> None:
        self._found, self._clock, self._scheduler = found, clock, scheduler
        self._threads = DaemonThreads("watched journal", 1)
        self._changes = self._new_watch()
        self._numbering: Numbering | None = None
        self._reading: asyncio.Task[None] | None = None
        self._has_read = asyncio.Event()
        self._pending = 0
        """Clients that wait until the journal was read once."""

    @property
    def is_reading(self) -> bool:
        """Whether the tables of the name server are in memory."""
        return self._reading is not None

    def revision(self) -> str | None:
        """The position of the last change of a route; None while nobody watches."""
        return self._changes.revision()

    async def watch(self, topics: frozenset[str], after: str | None) -> Watcher | WatchRefusal:
        """Start to watch: first come the changes after a revision; None: only new ones."""
        self._pending += 1
        try:
            if self._reading is None:
                self._has_read.clear()
                self._reading = asyncio.create_task(self._read(), name=f"watching {self._found}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._has_read.wait(), FIRST_READ_SECONDS)
            return await self._changes.watch(topics, after)
        finally:
            self._pending -= 1

    async def close(self) -> None:
        """Read no more; may be called twice."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def _new_watch(self) -> ChangeWatch:
        return ChangeWatch(
            lambda: self._numbering, clock=self._clock, scheduler=self._scheduler, watchers_limit=self.limit
        )

    async def _read(self) -> None:
        """Read the journal on until nobody has watched for a while."""
        journal = _WatchedJournal(self._found)
        unwatched_at: float | None = None
        loop = asyncio.get_running_loop()
        try:
            while True:
                for each in await self._threads.run(journal.new_changes):
                    self._take(each)
                if self._numbering is not None:
                    self._has_read.set()
                if self._changes or self._pending:
                    unwatched_at = None
                elif unwatched_at is None:
                    unwatched_at = loop.time()
                elif loop.time() - unwatched_at > LINGER_SECONDS:
                    return
                await asyncio.sleep(POLL_SECONDS)
        finally:
            watched, self._changes = self._changes, self._new_watch()
            self._reading, self._numbering = None, None
            watched.close()
            self._has_read.set()

    def _take(self, each: RouteChange | Revision) -> None:
        if isinstance(each, Revision):
            self._number(each)
            self._changes.revision()  # the numbering starts at this position
        else:
            self._number(each.revision, each.at)
            self._changes.take(each.topics, each.cause, each.peer)

    def _number(self, position: Revision, ts: int = 0) -> None:
        boot, seq = position
        self._numbering = Numbering(boot, seq, boot, seq, self._found.folder, ts)


class FollowedWatch:
    """Answers `/watch`, with a page for each name server that somebody watches.

    Args:
        journals: gives the id of each name server whose journal is followed, and the journal.
        clock: the time.
        refuse: returns why a client may not watch, by its connection and its token; None if it may.
    """

    def __init__(
        self,
        journals: Callable[[], Mapping[str, FoundJournal]],
        *,
        clock: Clock,
        refuse: Callable[[Peer, str | None], str | None],
    ) -> None:
        self._journals, self._clock, self._refuse = journals, clock, refuse
        self._scheduler = Scheduler()
        self._pages: dict[FoundJournal, tuple[FollowedRoutes, WatchPage]] = {}

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        journals = self._journals()
        name = request.query.get("namesrv") or (next(iter(journals)) if len(journals) == 1 else "")
        if name not in journals:
            which = "say which name server" if not name else f"no journal of {name} is followed"
            there = ", ".join(sorted(journals)) or "none"
            return text_answer(400 if not name else 404, f"{which}: /watch?topic=A&namesrv=ID of {there}")
        found = journals[name]
        for each, (routes, _) in [*self._pages.items()]:
            if each not in journals.values() and not routes.is_reading:
                del self._pages[each]
        if found not in self._pages:
            routes = FollowedRoutes(found, clock=self._clock, scheduler=self._scheduler)
            self._pages[found] = routes, WatchPage(routes, refuse=self._refuse)
        _, page = self._pages[found]
        return await page.answer(request)

    def judge_again(self) -> None:
        """End the watchers that other access rules do not allow."""
        for _, page in self._pages.values():
            page.judge_again()

    async def close(self) -> None:
        """End all watchers, as the process stops."""
        for routes, page in self._pages.values():
            page.close()
            await routes.close()


class _WatchedJournal:
    """Reads the changes of routes in a journal from its last complete checkpoint on; in a thread."""

    def __init__(self, found: FoundJournal) -> None:
        self._found = found
        self._follower: JournalFollower | None = None
        self._finder = RouteChangeFinder()
        self._has_begun = False

    def new_changes(self) -> Sequence[RouteChange | Revision]:
        """The changes since the last call; before the first ones, the position of the checkpoint."""
        changes: list[RouteChange | Revision] = []
        try:
            if self._follower is None:
                self._follower = JournalFollower(self._found, begins_late=True)
            for step in self._follower.new_steps():
                for each in self._finder.take(step):
                    if isinstance(each, RouteChange):
                        changes += [_copied(each)] if self._has_begun else []
                    elif not self._has_begun:
                        self._has_begun = True
                        changes.append(each)
        except (JournalError, OSError):
            pass  # `/readyz` names journals that can't be read; the next look tries again
        return changes


def _copied(change: RouteChange) -> RouteChange:
    """The change with topics of its own: the thread goes on changing the tables that have them."""
    if change.topics is not None:
        change.topics = (frozenset(topic for some in change.topics for topic in some),)
    return change
