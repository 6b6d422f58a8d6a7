"""What a watcher of routes gets, and where it comes from: plain values and interfaces."""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

__all__ = ["WatchRefusal", "WatchSource", "WatchedChange", "Watcher", "WhoKnows"]


class WatchedChange(Struct, frozen=True):
    """A change, as a watcher gets it."""

    revision: str
    topics: list[str]
    """Those of the watcher's topics whose route it shows in."""
    at: int
    """Wall ms."""
    cause: str
    peer: str | None
    """Who asked for it; null if nobody did."""


class WatchRefusal(StrEnum):
    """Why nobody can watch now."""

    NOT_READY = "the name server is starting: ask again in a second"
    FULL = "too many watch already (httpWatchersLimit): ask again later, or poll"


class Watcher(Protocol):
    """One that watches."""

    is_closed: bool

    def take(self) -> list[WatchedChange] | None:
        """The changes since the last call, in order; None if some of them are not kept any more."""
        ...

    async def wait(self, seconds: float) -> None:
        """Wait until there is something to take, or it is closed, at most so long."""
        ...

    def close(self) -> None:
        """Watch no more; may be called twice."""
        ...


class WatchSource(Protocol):
    """Where changes come from."""

    def revision(self) -> str | None:
        """The present revision; None until it is known."""
        ...

    async def watch(self, topics: frozenset[str], after: str | None) -> Watcher | WatchRefusal:
        """Begin to watch, with the changes after a revision first; None: from now on."""
        ...


class WhoKnows(Struct, frozen=True, kw_only=True):
    """Which connections have asked for a topic since its last change."""

    topic: str
    revision: str | None
    """The present one."""
    change: WatchedChange | None
    """The last change of the topic; null if there was none that is kept."""
    connections: int
    """Connections that have asked for any topic."""
    since_count: int
    before_count: int
    """Connections that asked before the change and not since: they may hold the old route."""
    since: list[str]
    """Their addresses, the first thousand."""
    before: list[str]
