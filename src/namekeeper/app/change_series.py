"""Series of changes with one cause; between two of them other requests are served."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from namekeeper.clock import Clock
from namekeeper.route.change import TableChange

__all__ = ["ChangeSeries", "turn_timer"]

TURN_MS = 2
"""Time for changes before other requests are served."""


def turn_timer(clock: Clock) -> Callable[[], bool]:
    """Begin a turn; returns a function that tells whether time is left in it."""
    end_ms = clock.now().mono_ms + TURN_MS
    return lambda: clock.now().mono_ms < end_ms


class ChangeSeries:
    """Submits series of changes, the oldest first."""

    def __init__(
        self,
        submit: Callable[[TableChange[Any]], None],
        *,
        clock: Clock,
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self._submit = submit
        self._clock = clock
        self._call_soon = call_soon
        self._series: deque[Iterator[TableChange[Any]]] = deque()
        self._has_turn = False

    def add(self, changes: Iterable[TableChange[Any]]) -> None:
        """Add a series; as many of its changes as there is time for are made now."""
        self._series.append(iter(changes))
        if not self._has_turn:
            self._turn()

    def _turn(self) -> None:
        self._has_turn = False
        has_time = turn_timer(self._clock)
        while self._series:
            change = next(self._series[0], None)
            if change is None:
                self._series.popleft()
                continue
            self._submit(change)
            if not has_time():
                self._has_turn = True
                self._call_soon(self._turn)
                return
