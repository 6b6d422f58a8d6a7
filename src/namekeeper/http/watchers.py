"""Values that a watcher of routes gets, and the interface of their source."""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

__all__ = ["WatchRefusal", "WatchSource", "WatchedChange", "Watcher", "WhoKnows"]


class WatchedChange(Struct, frozen=True):
    """A change of routes, as a watcher gets it."""

    revision: str
    topics: list[str]
    """The watcher's topics whose route has changed."""
    at: int
    """Wall ms."""
    cause: str
    peer: str | None
    """The address of the requester; null if no request asked for it."""


class WatchRefusal(StrEnum):
    """The reason for refusing a new watcher."""

    NOT_READY = "the name server is starting: ask again in a second"
    FULL = "too many watch already (httpWatchersLimit): ask again later, or poll"
    MANY_TOPICS = "too many topics are watched already: watch 20 topics or fewer, or ask again later"


class Watcher(Protocol):
    """A client that watches topics."""

    is_closed: bool

    def revision(self) -> str | None:
        """The revision up to which `take` has given, or will give, each change; None until it is known."""
        ...

    def take(self) -> list[WatchedChange] | None:
        """The changes since the last call, in order; None if some of them are not kept any more."""
        ...

    async def wait(self, seconds: float) -> None:
        """Wait until `take` has a result, or it is closed, at most this long."""
        ...

    def close(self) -> None:
        """Watch no more; may be called twice."""
        ...


class WatchSource(Protocol):
    """A source of changes."""

    limit: int
    """Most watchers at once."""

    def revision(self) -> str | None:
        """The present revision; None until it is known."""
        ...

    async def watch(self, topics: frozenset[str], after: str | None) -> Watcher | WatchRefusal:
        """Start to watch: first come the changes after a revision; None: only new ones."""
        ...


class WhoKnows(Struct, frozen=True, kw_only=True):
    """The connections that looked up a topic since its last change."""

    topic: str
    revision: str | None
    """The present revision."""
    change: WatchedChange | None
    """The last change of the topic; null if no kept change is of it."""
    connections: int
    """Connections that looked up any topic."""
    since_count: int
    before_count: int
    """Connections that looked it up before the change and not since: they may hold the old route."""
    since: list[str]
    """Addresses of these connections, the first thousand."""
    before: list[str]
