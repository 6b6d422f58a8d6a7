"""Makes the answers of the native front again after a change, before they are asked for."""

from collections.abc import Callable

from namekeeper.app.change_series import turn_timer
from namekeeper.clock import Clock
from namekeeper.processor.state import NameServerState
from namekeeper.wire.command import Response

__all__ = ["Refilling", "teach"]

QUIET_SECONDS = 0.02
"""Without a change for so long, stale answers are made again: the next change may be of the same topics."""
MOST_WAITS = 25
"""After so many times of that they are made all the same: half a second."""


class Refilling:
    """Has the front know again what it was asked for before a change; in turns, between other requests.

    A broker that comes or goes changes all its topics. Who asks for one meanwhile is answered by the
    interpreter.
    """

    def __init__(
        self,
        state: NameServerState,
        *,
        clock: Clock,
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """Do nothing yet.

        Args:
            state: makes the answers, and has the front learn them.
            clock: bounds a turn.
            call_later: calls a function after some seconds, and after the other connections had a turn.
        """
        self._state = state
        self._topic_answers = state.lookup_cache.topic_answers
        self._clock = clock
        self._call_later = call_later
        self._changes = self._waits = 0
        """Those of the answers when they were last looked at, and how often there were others since."""

    def begin(self) -> None:
        """Make again what gets stale from now on."""
        self._topic_answers.when_stale(self._wait)

    def _wait(self) -> None:
        self._changes = self._topic_answers.changes
        self._call_later(QUIET_SECONDS, self._begin)

    def _begin(self) -> None:
        self._waits += 1
        if self._changes != self._topic_answers.changes and self._waits < MOST_WAITS:
            self._wait()
            return
        self._waits = 0
        self._turn()

    def _turn(self) -> None:
        has_time = turn_timer(self._clock)
        try:
            while has_time() and (stale := self._topic_answers.take_stale()):
                for each in stale:
                    teach(self._state, each.topic, standard=each.standard, refills=each.refills)
        finally:  # what can't be made again must not stop the others
            if self._topic_answers.has_stale:
                self._call_later(0, self._turn)


def teach(state: NameServerState, topic: str, *, standard: bool, refills: int) -> None:
    """Make an answer that nobody waits for, and have the front know it, if the topic has a route."""
    answer = state.route_answers.get(topic, standard)
    if isinstance(answer, Response):
        state.lookup_cache.topic_answers.learn(topic, answer.body, standard=standard, refills=refills)
