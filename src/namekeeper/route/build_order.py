"""The next build to advance: round-robin by host and connection, one long build beside the short ones.

The duration of a build is unknown beforehand: a compressed body of 300 KB may hold four million topics. So
each build starts as a short one. If it takes longer than a short one while others wait, it becomes a long
one.

At most one short and one long build are under way, and their slices alternate. If another long build is under
way already, the queue discards the work of the new one and starts it again later. So at most two builds hold
memory.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import Any

from namekeeper.route.change import Applied, TableChange

__all__ = ["SHORT_SLICES", "BuildOrder", "Done", "QueuedChange"]

SHORT_SLICES = 256
"""Slices of a short build: about 200,000 topics, or a tenth of a second."""

Done = Callable[[TableChange[Any], "Applied[Any] | Exception"], None]
"""Called in the iteration of the commit with its outcome or the error. It must not submit another change."""


class QueuedChange:
    """A change on its way through the three steps."""

    __slots__ = ("build", "change", "clean_up", "done", "is_over", "is_waiting", "names", "slices_run")

    def __init__(self, change: TableChange[Any], done: Done, names: Collection[str]) -> None:
        self.change = change
        self.done = done
        self.names = names
        self.build: Iterator[None] | None = None
        """The slices of the build; None before the first."""
        self.clean_up: Iterator[None] | None = None
        """The slices of the clean-up; None before the commit."""
        self.is_over = False
        self.is_waiting = False
        """Whether it waits in line for its broker names, and was not dropped."""
        self.slices_run = 0
        """Slices of the build and of the clean-up so far, without the first."""

    def begin_anew(self) -> None:
        """Discard the work of the build."""
        self.build = None  # an iterator without references is closed, and takes back what it did
        self.slices_run = 0


class BuildOrder:
    """Builds that are under way or wait."""

    def __init__(self) -> None:
        self._short = _BuildLine()
        self._long = _BuildLine()
        self._long_is_next = False

    def __len__(self) -> int:
        return len(self._short) + len(self._long)

    def __iter__(self) -> Iterator[QueuedChange]:
        return chain(self._short, self._long)

    def add(self, build: QueuedChange) -> None:
        """Let a build wait; it may have run its first slice."""
        self._short.waiting.add(build)

    def next(self) -> QueuedChange | None:
        """The build that advances now; None if there is none."""
        self._make_way()
        first, second = (self._long, self._short) if self._long_is_next else (self._short, self._long)
        self._long_is_next = not self._long_is_next
        build = first.take() or second.take()
        if build is not None:
            build.slices_run += 1
        return build

    def leave(self, build: QueuedChange) -> None:
        """Remove a finished build that has just advanced."""
        for level in (self._short, self._long):
            if level.under_way is build:
                level.under_way = None

    def _make_way(self) -> None:
        """Turn a short build that took too long into a long one if others wait; never after its commit."""
        build = self._short.under_way
        if build is None or build.slices_run < SHORT_SLICES or build.clean_up is not None:
            return
        if not self._short.waiting:
            return
        self._short.under_way = None
        if len(self._long):
            build.begin_anew()
            self._long.waiting.add(build)
        else:
            self._long.under_way = build


class _Waiting:
    """Waiting builds, round-robin by host, then by connection; a connection keeps its order."""

    __slots__ = ("_count", "_hosts")

    def __init__(self) -> None:
        self._hosts: dict[str, dict[str, deque[QueuedChange]]] = {}
        """Host -> address of a connection -> its builds; the first host is next."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[QueuedChange]:
        return (build for builds in self._hosts.values() for some in builds.values() for build in some)

    def add(self, build: QueuedChange) -> None:
        addr = build.change.remote_addr or ""
        connections = self._hosts.setdefault(addr.rpartition(":")[0], {})
        connections.setdefault(addr, deque()).append(build)
        self._count += 1

    def take(self) -> QueuedChange | None:
        """Take the next build out; its host and its connection go to the end."""
        if not self._count:
            return None
        self._count -= 1
        host = next(iter(self._hosts))
        connections = self._hosts.pop(host)
        addr = next(iter(connections))
        builds = connections.pop(addr)
        build = builds.popleft()
        if builds:
            connections[addr] = builds
        if connections:
            self._hosts[host] = connections
        return build


class _BuildLine:
    """One build that is under way, and the builds that wait for it."""

    __slots__ = ("under_way", "waiting")

    def __init__(self) -> None:
        self.under_way: QueuedChange | None = None
        self.waiting = _Waiting()

    def __len__(self) -> int:
        return len(self.waiting) + (self.under_way is not None)

    def __iter__(self) -> Iterator[QueuedChange]:
        return chain(() if self.under_way is None else (self.under_way,), self.waiting)

    def take(self) -> QueuedChange | None:
        """The build under way; if there is none, the next waiting build becomes it."""
        if self.under_way is None:
            self.under_way = self.waiting.take()
        return self.under_way
