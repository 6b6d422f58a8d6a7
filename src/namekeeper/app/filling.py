"""Keeps answers current between requests: drops invalidated ones, and refreshes the native fast path.

The native fast path has answers before clients request them: after a change, a start, and as brokers come.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from namekeeper.lookup_cache.topic_answers import MissingAnswer
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.wire.command import Response

__all__ = ["MADE_IN_A_WAIT", "NEW", "STALE", "fill_front"]


class _Wait(NamedTuple):
    """The quiet time before missing answers are made."""

    seconds: float
    at_most: float
    """After this number of waits they are made all the same."""


STALE = _Wait(0.02, 25)
"""For answers that a change invalidated: the next change may be of the same topics."""
NEW = _Wait(0.5, math.inf)
"""For topics that no client has requested: brokers come one after the other."""
MADE_IN_A_WAIT = 20
"""If there are at most so many invalidated answers for each wait, they are made all the same. That takes 5 %
of the time, while each lookup of an invalidated answer returns a socket."""


def fill_front(
    state: NameServerState,
    *,
    scheduler: Scheduler,
    call_later: Callable[[float, Callable[[], None]], object],
) -> None:
    """Keep the native fast path supplied with answers from now on.

    Args:
        state: has the topics, makes the answers, and adds them to the native fast path.
        scheduler: makes the answers between other requests.
        call_later: calls a function after some seconds.
    """
    topic_answers = state.lookup_cache.topic_answers
    timed = partial(_Filling, state, scheduler=scheduler, call_later=call_later)
    stale = timed(topic_answers.take_stale, STALE, how_many=lambda: topic_answers.stale)
    new = timed(partial(_new_topics, state), NEW, how_many=lambda: math.inf)
    topic_answers.when_stale(stale.note)
    topic_answers.when_lacking(new.note)


def _new_topics(state: NameServerState) -> Iterator[MissingAnswer | None]:
    """The topics without an answer, as far as there is room; None for each topic with one."""
    topic_answers = state.lookup_cache.topic_answers
    for topic in chain.from_iterable(state.tables.topic_index.shards()):
        if not topic_answers.takes_more:
            return
        yield None if topic in topic_answers.topics else MissingAnswer(topic, standard=True)


class _Filling:
    """Makes missing answers when no more have come for a while, incrementally between other requests."""

    def __init__(
        self,
        state: NameServerState,
        missing: Callable[[], Iterator[MissingAnswer | None]],
        wait: _Wait,
        *,
        how_many: Callable[[], float],
        scheduler: Scheduler,
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._state = state
        self._missing = missing
        self._wait = wait
        self._how_many = how_many
        self._scheduler = scheduler
        self._call_later = call_later
        self._is_busy = False
        self._is_noted = False
        """Whether answers may be missing that were not when the wait, or the work, started."""
        self._waits = 0

    def note(self) -> None:
        """Note that answers may be missing."""
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
        self._scheduler.add(partial(self._step, self._missing()))

    def _step(self, missing: Iterator[MissingAnswer | None]) -> bool:
        try:
            each = next(missing)
        except StopIteration:
            self._end()
            return False
        if each is not None:
            self._make(each)
        return True

    def _make(self, missing: MissingAnswer) -> None:
        """Give the native fast path an answer that no client waits for, if lookups get it now."""
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
