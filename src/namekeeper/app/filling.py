"""Has the native front know answers before anybody asks: after a change, a start, and as brokers come."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from namekeeper.app.change_series import turn_timer
from namekeeper.clock import Clock
from namekeeper.lookup_cache.topic_answers import MissingAnswer
from namekeeper.processor.state import NameServerState
from namekeeper.wire.command import Response

__all__ = ["MADE_IN_A_WAIT", "NEW", "STALE", "fill_front"]


class _Wait(NamedTuple):
    """How long nothing more may have come before missing answers are made."""

    seconds: float
    at_most: float
    """After so many times they are made all the same."""


STALE = _Wait(0.02, 25)
"""For what was known and has changed: the next change may be of the same topics."""
NEW = _Wait(0.5, math.inf)
"""For topics that nobody has asked for: brokers come one after the other."""
MADE_IN_A_WAIT = 20
"""If there are at most so many stale answers for each time waited, they are made all the same: that takes 5 %
of the time, while each look-up of what is stale gives a socket back."""


def fill_front(
    state: NameServerState,
    *,
    clock: Clock,
    call_later: Callable[[float, Callable[[], None]], object],
) -> None:
    """Have the front know from now on what it may be asked for.

    Args:
        state: has the topics, makes the answers, and has the front learn them.
        clock: bounds a turn.
        call_later: calls a function after some seconds, and after the other connections had a turn.
    """
    topic_answers = state.lookup_cache.topic_answers
    timed = partial(_Filling, state, clock=clock, call_later=call_later)
    stale = timed(topic_answers.take_stale, STALE, how_many=lambda: topic_answers.stale)
    new = timed(partial(_new_topics, state), NEW, how_many=lambda: math.inf)
    topic_answers.when_stale(stale.note)
    topic_answers.when_lacking(new.note)


def _new_topics(state: NameServerState) -> Iterator[MissingAnswer | None]:
    """The topics that are not known, as far as there is room; None for each that is."""
    topic_answers = state.lookup_cache.topic_answers
    for topic in chain.from_iterable(state.tables.topic_index.shards()):
        if not topic_answers.takes_more:
            return
        yield None if topic in topic_answers.topics else MissingAnswer(topic, standard=True)


class _Filling:
    """Makes missing answers when no more have come for a while; in turns, between other requests."""

    def __init__(
        self,
        state: NameServerState,
        missing: Callable[[], Iterator[MissingAnswer | None]],
        wait: _Wait,
        *,
        how_many: Callable[[], float],
        clock: Clock,
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._state = state
        self._missing = missing
        self._wait = wait
        self._how_many = how_many
        self._clock = clock
        self._call_later = call_later
        self._is_busy = False
        self._is_noted = False
        """Whether answers may be missing that were not when the wait, or the work, began."""
        self._waits = 0

    def note(self) -> None:
        """Answers may be missing."""
        self._is_noted = True
        if not self._is_busy:
            self._begin_wait()

    def _begin_wait(self) -> None:
        self._is_busy = True
        self._is_noted = False
        self._waits += 1
        self._call_later(self._wait.seconds, self._end_wait)

    def _end_wait(self) -> None:
        enough = min(self._wait.at_most, self._how_many() / MADE_IN_A_WAIT)
        if self._is_noted and self._waits < enough:
            self._begin_wait()
            return
        self._waits = 0
        self._is_noted = False
        self._turn(self._missing())

    def _turn(self, missing: Iterator[MissingAnswer | None]) -> None:
        has_time = turn_timer(self._clock)
        go_on: Callable[[], object] = partial(self._call_later, 0, partial(self._turn, missing))
        try:
            for each in missing:
                if each is not None:
                    self._make(each)
                if not has_time():
                    break
            else:
                go_on = self._end
        finally:  # what can't be made must not stop the others
            go_on()

    def _make(self, missing: MissingAnswer) -> None:
        """Have the front know an answer that nobody waits for, if look-ups of the topic get it now."""
        if self._state.is_waiting_for_service:
            return
        answer = self._state.route_answers.get(missing.topic, missing.standard)
        if isinstance(answer, Response):
            self._state.lookup_cache.topic_answers.learn(
                missing.topic, answer.body, standard=missing.standard, refills=missing.refills
            )

    def _end(self) -> None:
        self._is_busy = False
        if self._is_noted:
            self._begin_wait()
