"""Has the native front know topics before anybody asks for them: after a start, and as brokers come."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from namekeeper.app.change_series import turn_timer
from namekeeper.app.refilling import Refilling, teach
from namekeeper.clock import Clock
from namekeeper.processor.state import NameServerState

__all__ = ["Filling", "fill_front"]

QUIET_SECONDS = 0.5
"""Without new topics for so long, answers are made: brokers come one after the other."""


def fill_front(
    state: NameServerState,
    *,
    clock: Clock,
    call_later: Callable[[float, Callable[[], None]], object],
) -> None:
    """From now on have the front know topics before they are asked for; arguments as those of `Filling`."""
    for kind in (Refilling, Filling):
        kind(state, clock=clock, call_later=call_later).begin()


class Filling:
    """Goes through all topics when they have been the same for a while; in turns, between other requests."""

    def __init__(
        self,
        state: NameServerState,
        *,
        clock: Clock,
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """Do nothing yet.

        Args:
            state: has the topics, makes the answers, and has the front learn them.
            clock: bounds a turn.
            call_later: calls a function after some seconds, and after the other connections had a turn.
        """
        self._state = state
        self._topic_answers = state.lookup_cache.topic_answers
        self._clock = clock
        self._call_later = call_later
        self._is_waiting = False
        self._is_quiet = False
        """Whether nothing came since the wait began."""

    def begin(self) -> None:
        """Fill the front from now on."""
        self._topic_answers.when_lacking(self._note)

    def _note(self) -> None:
        self._is_quiet = False
        if not self._is_waiting:
            self._is_waiting = True
            self._wait()

    def _wait(self) -> None:
        self._is_quiet = True
        self._call_later(QUIET_SECONDS, self._waited)

    def _waited(self) -> None:
        if not self._is_quiet:
            self._wait()
            return
        self._is_waiting = False
        self._turn(chain.from_iterable(self._state.tables.topic_index.shards()))

    def _turn(self, topics: Iterator[str]) -> None:
        has_time = turn_timer(self._clock)
        has_more = True
        try:
            while has_more and has_time():
                has_more = self._make(next(topics, None))
        finally:  # what can't be made must not stop the others
            if has_more:
                self._call_later(0, partial(self._turn, topics))

    def _make(self, topic: str | None) -> bool:
        """Have the front know a topic, if it does not; returns whether it may know another."""
        if topic is None or not self._topic_answers.takes_more:
            return False
        if topic not in self._topic_answers.topics:
            teach(self._state, topic, standard=True, refills=1)
        return True
