"""In which order changes happen: one lane for each broker name, builds one at a time (docs/decisions/0003).

A change that takes one turn and finds the lanes of its broker names free happens at once. One that needs
more turns is a *build*: builds advance one at a time, first come first served, and while a build of a broker
name runs or waits, every later change that touches this name waits behind it and is judged when its turn
comes. Readers never wait. Who owns the queue calls `turn` as often as `has_work` says, serving others in
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


class _Job:
    __slots__ = ("change", "done", "is_over", "is_told", "names", "turns")

    def __init__(self, change: TableChange[Any], done: Done, names: Collection[str]) -> None:
        self.change = change
        self.done = done
        self.names = names
        self.turns: Turns[Any] | None = None
        self.is_told = False
        self.is_over = False


class ChangeQueue:
    """Runs changes of the tables in an order that nobody can tell from one at a time."""

    def __init__(self, tables: RouteTables, now: Now) -> None:
        self._tables = tables
        self._turn = Turn(now)
        self._builds: deque[_Job] = deque()
        self._waiting: deque[_Job] = deque()
        self._held: set[str] = set()
        """Broker names of builds under way and of changes that wait."""

    def __len__(self) -> int:
        return len(self._builds) + len(self._waiting)

    @property
    def has_work(self) -> bool:
        """Whether `turn` must be called."""
        return bool(self._builds or self._waiting)

    def submit(self, change: TableChange[Any], done: Done, *, now: Now) -> None:
        """Do the change now, or when its time comes; `done` is called once, perhaps before this returns."""
        job = _Job(change, done, change.touches(self._tables))
        if self._held and not self._held.isdisjoint(job.names):
            self._wait(job)
        else:
            self._start(job, now)

    def turn(self, now: Now) -> None:
        """One decode or one slice of the oldest build; what waited for it follows when it is over."""
        try:
            if self._builds:
                self._advance(self._builds[0], now)
        finally:  # also when `done` raises: its bug must not close the lane for good
            if not self._builds or self._builds[0].is_over:
                self._release(now)

    def _start(self, job: _Job, now: Now) -> None:
        try:
            self._advance(job, now)
        finally:
            if not job.is_over:
                self._builds.append(job)
                self._held.update(job.names)

    def _advance(self, job: _Job, now: Now) -> None:
        """Run one turn; tell what the change came to if it became visible, or failed, in it."""
        self._turn.now = now
        outcome = self._run_turn(job)
        if outcome is not None:
            job.is_told = True
            job.done(job.change, outcome)

    def _run_turn(self, job: _Job) -> Applied[Any] | Exception | None:
        try:
            if job.turns is None:
                begun = job.change.run(self._tables, self._turn)
                if isinstance(begun, Applied):
                    job.is_over = True
                    return begun
                job.turns = begun
            return next(job.turns)
        except StopIteration as stop:
            job.is_over = True
            return cast("Applied[Any] | None", stop.value)
        except Exception as error:  # a request's fault or a bug in a rule: who asked is told
            job.is_over = True
            if job.is_told:
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
                job = waiting.popleft()
                job.names = job.change.touches(self._tables)
                if self._held.isdisjoint(job.names):
                    self._start(job, now)
                else:
                    self._wait(job)
        finally:
            for job in waiting:  # none, unless `done` raised
                self._wait(job)

    def _wait(self, job: _Job) -> None:
        self._waiting.append(job)
        self._held.update(job.names)
