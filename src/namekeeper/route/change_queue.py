"""The order of changes: one lane for each broker name (docs/decisions/0003).

A change of one slice whose broker names no other change holds happens at once. A change of more slices is a
*build*. `build_order.py` selects the build that advances. While a build of a broker name runs or waits, every
later change that touches this name waits behind it. The queue assesses a waiting change when it starts.

Readers never wait. The owner of the queue calls `turn` while it `is_busy`, and handles other requests between
two calls.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Any

from namekeeper.model.now import Now
from namekeeper.route.build_order import BuildOrder, Done, QueuedChange
from namekeeper.route.change import TableChange
from namekeeper.route.tables import RouteTables

__all__ = ["ChangeQueue"]

_END = object()
DROPPED_KEPT = 64
"""Changes that were dropped stay in line up to this number, or up to as many as the others."""


def _always() -> bool:
    """Report that there is time."""
    return True


class ChangeQueue:
    """Runs changes of the tables; the result is as if each ran alone, in the order of its lane."""

    def __init__(self, tables: RouteTables) -> None:
        self._tables = tables
        self._builds = BuildOrder()
        self._waiting: deque[QueuedChange] = deque()
        self._unsorted: deque[QueuedChange] = deque()
        """Changes that waited when a build ended, and those submitted since: they start, or wait again."""
        self._held: set[str] = set()
        """Broker names of all builds under way and of all changes that wait."""
        self._held_by_sorted: set[str] = set()
        """Broker names of these builds and changes without the unsorted changes, while there are any."""
        self._dropped = 0
        """Dropped changes that are still in line."""

    def __len__(self) -> int:
        return len(self._builds) + len(self._waiting) + len(self._unsorted) - self._dropped

    @property
    def is_busy(self) -> bool:
        """Whether `turn` must be called."""
        return bool(self._builds or self._waiting or self._unsorted)

    def submit(self, change: TableChange[Any], done: Done, *, now: Now) -> QueuedChange:
        """Make the change now or after earlier ones; call `done` once, perhaps before this method returns.

        The result is for `drop`.
        """
        entry = QueuedChange(change, done, change.touches(self._tables))
        if self._held and not self._held.isdisjoint(entry.names):
            self._wait(entry, self._unsorted or self._waiting)
        else:
            self._start(entry, now)
        return entry

    def drop(self, entry: QueuedChange) -> bool:
        """Take a change out, without a call of `done`, if it waits for its names; return whether it did."""
        if not entry.is_waiting:
            return False
        entry.is_waiting = False
        self._dropped += 1
        if self._dropped > DROPPED_KEPT and self._dropped * 2 > len(self._waiting) + len(self._unsorted):
            self._waiting = deque(each for each in self._waiting if each.is_waiting)
            self._unsorted = deque(each for each in self._unsorted if each.is_waiting)
            self._dropped = 0
        return True

    def turn(self, now: Now, has_time: Callable[[], bool] = _always) -> None:
        """Run one slice of a build; after its last slice, start the changes that waited for it.

        Thousands of changes may wait: the call ends as soon as `has_time` returns False, and the next call
        goes on.
        """
        build = None if self._unsorted else self._builds.next()
        try:
            if build is not None:
                self._advance(build, now)
        finally:  # also when `done` raises: its bug must not close the lane for ever
            if build is None or build.is_over:
                self._release(build, now, has_time)

    def _start(self, entry: QueuedChange, now: Now) -> None:
        entry.is_waiting = False
        try:
            self._advance(entry, now)
        finally:
            if not entry.is_over:
                self._builds.add(entry)
                self._reserve(entry.names)

    def _advance(self, entry: QueuedChange, now: Now) -> None:
        """Run one slice. The last of a build, the commit and the first of the clean-up share an iteration."""
        if entry.clean_up is not None:
            self._clean_up(entry, entry.clean_up)
            return
        try:
            if entry.build is None:
                entry.build = entry.change.build(self._tables)
            if not _run_slice(entry.build):
                return
            applied = entry.change.commit(self._tables, now)
        except Exception as error:  # noqa: BLE001 - a bad request or a bug: the requester gets the error
            entry.is_over = True
            entry.done(entry.change, error)
            return
        entry.clean_up = entry.change.clean_up(self._tables, applied)
        try:
            self._clean_up(entry, entry.clean_up)
        finally:
            entry.done(entry.change, applied)

    @staticmethod
    def _clean_up(entry: QueuedChange, slices: Iterator[None]) -> None:
        try:
            entry.is_over = _run_slice(slices)
        except Exception:
            entry.is_over = True
            raise

    def _release(self, over: QueuedChange | None, now: Now, has_time: Callable[[], bool]) -> None:
        """Remove the finished build, and start the waiting changes whose lanes are free."""
        if over is not None:
            self._builds.leave(over)
        if not self._unsorted:
            self._unsorted, self._waiting = self._waiting, deque()
            self._held_by_sorted = {name for build in self._builds for name in build.names}
        while self._unsorted:
            entry = self._unsorted.popleft()
            if not entry.is_waiting:
                self._dropped -= 1
                continue
            entry.names = entry.change.touches(self._tables)
            if self._held_by_sorted.isdisjoint(entry.names):
                self._start(entry, now)
            else:
                self._wait(entry, self._waiting)
            if not has_time():
                break
        if not self._unsorted:
            self._held = set(self._held_by_sorted)

    def _wait(self, entry: QueuedChange, queue: deque[QueuedChange]) -> None:
        entry.is_waiting = True
        queue.append(entry)
        if queue is self._waiting:
            self._reserve(entry.names)
        else:
            self._held.update(entry.names)

    def _reserve(self, names: Collection[str]) -> None:
        self._held.update(names)
        self._held_by_sorted.update(names)


def _run_slice(slices: Iterator[None]) -> bool:
    """Run the next slice; return whether it was the last."""
    return next(slices, _END) is _END
