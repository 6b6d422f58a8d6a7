"""In which order changes happen: one lane for each broker name, builds one at a time (docs/decisions/0003).

A change that takes one turn and finds the lanes of its broker names free happens at once. One that needs
more turns is a *build*: builds advance one at a time, first come first served, and while a build of a broker
name runs or waits, every later change that touches this name waits behind it and is judged when its turn
comes. Readers never wait. Who owns the queue calls `turn` as often as `is_busy` says, serving others in
between.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Any, cast

from namekeeper.model.now import Now
from namekeeper.route.change import Applied, TableChange, Turn, Turns
from namekeeper.route.tables import RouteTables

__all__ = ["ChangeQueue", "Done"]

Done = Callable[[TableChange[Any], "Applied[Any] | Exception"], None]
"""Told when a change is visible: what it came to, or why it failed. It must not submit another one."""


class _QueuedChange:
    __slots__ = ("change", "done", "is_over", "is_reported", "names", "turns")

    def __init__(self, change: TableChange[Any], done: Done, names: Collection[str]) -> None:
        self.change = change
        self.done = done
        self.names = names
        self.turns: Turns[Any] | None = None
        self.is_reported = False
        self.is_over = False


class ChangeQueue:
    """Runs changes of the tables in an order that nobody can tell from one at a time."""

    def __init__(self, tables: RouteTables, now: Now) -> None:
        self._tables = tables
        self._turn = Turn(now)
        self._builds: deque[_QueuedChange] = deque()
        self._waiting: deque[_QueuedChange] = deque()
        self._held: set[str] = set()
        """Broker names of builds under way and of changes that wait."""

    def __len__(self) -> int:
        return len(self._builds) + len(self._waiting)

    @property
    def is_busy(self) -> bool:
        """Whether `turn` must be called."""
        return bool(self._builds or self._waiting)

    def submit(self, change: TableChange[Any], done: Done, *, now: Now) -> None:
        """Do the change now, or when its time comes; `done` is called once, perhaps before this returns."""
        entry = _QueuedChange(change, done, change.touches(self._tables))
        if self._held and not self._held.isdisjoint(entry.names):
            self._wait(entry)
        else:
            self._start(entry, now)

    def turn(self, now: Now) -> None:
        """One decode or one slice of the oldest build; what waited for it follows when it is over."""
        try:
            if self._builds:
                self._advance(self._builds[0], now)
        finally:  # also when `done` raises: its bug must not close the lane for good
            if not self._builds or self._builds[0].is_over:
                self._release(now)

    def _start(self, entry: _QueuedChange, now: Now) -> None:
        try:
            self._advance(entry, now)
        finally:
            if not entry.is_over:
                self._builds.append(entry)
                self._held.update(entry.names)

    def _advance(self, entry: _QueuedChange, now: Now) -> None:
        """Run one turn; tell what the change came to if it became visible, or failed, in it."""
        self._turn.now = now
        outcome = self._run_turn(entry)
        if outcome is not None:
            entry.is_reported = True
            entry.done(entry.change, outcome)

    def _run_turn(self, entry: _QueuedChange) -> Applied[Any] | Exception | None:
        try:
            if entry.turns is None:
                begun = entry.change.run(self._tables, self._turn)
                if isinstance(begun, Applied):
                    entry.is_over = True
                    return begun
                entry.turns = begun
            return next(entry.turns)
        except StopIteration as stop:
            entry.is_over = True
            return cast("Applied[Any] | None", stop.value)
        except Exception as error:  # a request's fault or a bug in a rule: who asked is told
            entry.is_over = True
            if entry.is_reported:
                raise
            return error

    def _release(self, now: Now) -> None:
        """Leave the build that is over; start what waited, in order, as far as the lanes are free."""
        if self._builds:
            self._builds.popleft()
        waiting, self._waiting = self._waiting, deque()
        self._held = {name for build in self._builds for name in build.names}
        try:
            while waiting:
                entry = waiting.popleft()
                entry.names = entry.change.touches(self._tables)
                if self._held.isdisjoint(entry.names):
                    self._start(entry, now)
                else:
                    self._wait(entry)
        finally:
            for entry in waiting:  # none, unless `done` raised
                self._wait(entry)

    def _wait(self, entry: _QueuedChange) -> None:
        self._waiting.append(entry)
        self._held.update(entry.names)
