"""Reads histories on as they grow: one reading for the page and for incidents."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from namekeeper.console.histories import FollowedHistory, Histories
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.history.sources.source import HistorySource

__all__ = ["BEGIN_SECONDS", "POLL_SECONDS", "READERS", "HistoriesReader"]

log = logging.getLogger("namekeeper.console")

POLL_SECONDS = 0.25
"""Interval at which histories are read again: a change must be visible within a second."""
BEGIN_SECONDS = 2.0
"""Time that a page waits for the newest part of the histories. Then it gets what there is, and news later."""
READERS = 6
"""Threads that read histories. A stop waits for none of them."""
AFTER_A_BUG_SECONDS = 10.0


class HistoriesReader:
    """Reads histories on until `run` is cancelled.

    Args:
        histories: what is read; nobody else reads them on.
        wait_for_pages: awaited when the newest part of the histories is shown and the rest is not read yet;
            None: nobody looks at a part, so everything is read at once.
    """

    def __init__(
        self, histories: Histories, wait_for_pages: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.histories = histories
        self._wait_for_pages = wait_for_pages
        self._threads = DaemonThreads("reader", READERS)
        self._changed = asyncio.Condition()
        self.has_begun = asyncio.Event()
        """Set when the newest part of each history is shown."""
        self.has_read = asyncio.Event()
        """Set when each history that was there at the start was read completely once."""
        self._unread: set[FollowedHistory] = set()
        self._following: dict[FollowedHistory, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Read until cancelled; a bug in one reading ends none of the others."""
        try:
            first = list(self.histories.all)
            self._unread = set(first)
            await self._begin(first)
            for each in first:
                if each in self.histories.all:  # not removed meanwhile
                    self._follow(each)
            self._note_read()
            await asyncio.Event().wait()
        finally:
            tasks = [*self._following.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def add(self, namesrv: str, source: HistorySource) -> None:
        """Read the history of a further name server on; it is shown once it was read completely.

        Args:
            namesrv: its id, which no other history has.
            source: where its steps come from.
        """
        history = await self._threads.run(self.histories.prepared, namesrv, source)
        await self._threads.run(self.histories.read, history)
        self.histories.add(history)
        self._follow(history)
        await self.tell()

    async def remove(self, namesrv: str) -> None:
        """Read the history of a name server no more, and show it no more."""
        for history in [each for each in self.histories.all if each.namesrv == namesrv]:
            self._unread.discard(history)
            task = self._following.pop(history, None)
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await self._threads.run(self.histories.remove, history)
        self._note_read()
        await self.tell()

    async def wait_for_change(self, is_over: Callable[[], bool], seconds: float) -> None:
        """Wait until a function is true, which is called at each change; at most for some seconds."""
        async with self._changed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait_for(is_over)

    async def tell(self) -> None:
        """Have everybody who waits for a change look again."""
        async with self._changed:
            self._changed.notify_all()

    async def _begin(self, first: list[FollowedHistory]) -> None:
        if first and self._wait_for_pages is not None:
            begins = [asyncio.create_task(self._threads.run(self.histories.begin, each)) for each in first]
            await asyncio.wait(begins, timeout=BEGIN_SECONDS)
            self.has_begun.set()
            if any([await each for each in begins]):
                await self.tell()
                await self._wait_for_pages()
        self.has_begun.set()

    def _follow(self, history: FollowedHistory) -> None:
        self._following[history] = asyncio.create_task(self._read_on(history))

    async def _read_on(self, history: FollowedHistory) -> None:
        while True:
            pause = POLL_SECONDS
            try:
                if await self._threads.run(self.histories.read, history):
                    await self.tell()
            except Exception:
                log.exception("a bug in the reading of %s", history.namesrv)
                pause = AFTER_A_BUG_SECONDS
            self._unread.discard(history)
            self._note_read()
            await asyncio.sleep(pause)

    def _note_read(self) -> None:
        if not self._unread:
            self.has_read.set()
