"""Answers that look at every topic: made one at a time, slice by slice, between the turns of everybody else.

Requests for the same list that wait share one answer: each sees the tables as they were after it came.
"""

from collections.abc import Callable, Generator
from time import perf_counter

from namekeeper.wire.command import Response

__all__ = ["ListAnswers"]

TURN_SECONDS = 0.002
"""How long slices are run in one turn."""

Key = tuple[int, str]
Make = Callable[[], Generator[None, None, Response]]
Done = Callable[["Response | Exception"], None]
"""Gets the answer, or why there is none."""


class ListAnswers:
    """Makes the answers; touched from one event loop only."""

    def __init__(
        self, call_soon: Callable[[Callable[[], None]], object], *, clock: Callable[[], float] = perf_counter
    ) -> None:
        """Begin with nothing.

        Args:
            call_soon: has a function called after everybody else had a turn.
            clock: seconds; decides when a turn is over.
        """
        self._call_soon = call_soon
        self._clock = clock
        self._waiting: dict[Key, tuple[Make, list[Done]]] = {}
        self._slices: Generator[None, None, Response] | None = None
        """The list that is being made."""
        self._dones: list[Done] = []
        """Who gets it."""

    def ask(self, key: Key, make: Make, done: Done) -> None:
        """Have the list `key` made; `done` is called once, at once if the list is short and nothing waits."""
        if key in self._waiting:
            self._waiting[key][1].append(done)
            return
        self._waiting[key] = (make, [done])
        if self._slices is None and len(self._waiting) == 1:
            self._turn()

    def _turn(self) -> None:
        """Run slices until the time of a turn is used up or a list is complete."""
        if self._slices is None:
            make, self._dones = self._waiting.pop(next(iter(self._waiting)))
            self._slices = make()
        deadline = self._clock() + TURN_SECONDS
        try:
            while self._clock() < deadline:
                next(self._slices)
        except StopIteration as end:
            self._finish(end.value)
        except Exception as error:  # noqa: BLE001 - a bad request or a bug: the requesters get the error
            self._finish(error)
        if self._is_busy:
            self._call_soon(self._turn)

    @property
    def _is_busy(self) -> bool:
        return self._slices is not None or bool(self._waiting)

    def _finish(self, outcome: Response | Exception) -> None:
        dones, self._dones, self._slices = self._dones, [], None
        for done in dones:
            done(outcome)
