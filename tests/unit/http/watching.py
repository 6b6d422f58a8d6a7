"""A source of changes that does what the test says."""

import asyncio

from namekeeper.http.watchers import WatchedChange, WatchRefusal

__all__ = ["OneWatcher", "Watching", "changed"]


def changed(revision: str, *topics: str) -> WatchedChange:
    return WatchedChange(revision, list(topics), 1_700_000_000_000, "expired", "10.0.0.1:5")


class OneWatcher:
    """Gives what was put into it; None stands for changes that are gone."""

    def __init__(self, source: "Watching") -> None:
        self._source = source
        self.told: str | None = None
        """Its revision, where that is not the present one."""
        self.is_closed = False
        self.pending: list[WatchedChange] | None = []
        self.something = asyncio.Event()
        self.waited: list[float] = []

    def put(self, changes: list[WatchedChange] | None) -> None:
        self.pending = changes
        self.something.set()

    def revision(self) -> str | None:
        return self.told or self._source.present

    def take(self) -> list[WatchedChange] | None:
        changes, self.pending = self.pending, []
        self.something.clear()
        return changes

    async def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        await asyncio.sleep(0)
        if self.pending == [] and not self.is_closed and seconds:
            await self.something.wait()

    def close(self) -> None:
        self.is_closed = True
        self.something.set()


class Watching:
    """A `WatchSource`."""

    limit = 100

    def __init__(self) -> None:
        self.present: str | None = "5-7"
        self.refusal: WatchRefusal | None = None
        self.asked: list[tuple[frozenset[str], str | None]] = []
        self.watchers: list[OneWatcher] = []
        self.first: list[WatchedChange] | None = []

    def revision(self) -> str | None:
        return self.present

    async def watch(self, topics: frozenset[str], after: str | None) -> OneWatcher | WatchRefusal:
        self.asked.append((topics, after))
        if self.refusal is not None:
            return self.refusal
        watcher = OneWatcher(self)
        watcher.pending = self.first
        self.watchers.append(watcher)
        return watcher
