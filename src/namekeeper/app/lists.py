"""Answers that show many topics or brokers, made one at a time, in slices: others are served between them.

Waiting requests for the same list share one answer, made from the tables as they are after all of them came.
"""

import asyncio
from collections.abc import Callable, Generator, Hashable
from time import perf_counter

from namekeeper.app.durations import Answers
from namekeeper.remoting.unread import ROOM_LOOK_SECONDS
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["ListAnswers", "giving"]

TURN_SECONDS = 0.002
"""Time for slices in one turn."""

Key = Hashable
"""What is asked for, and the form of JSON: who asks for the same gets the same answer."""
Make = Callable[[], Generator[None, None, Response]]
Done = Callable[["Response | Exception"], bool]
"""Gets the answer or the error; returns whether it could take it. If not, it is called again."""


class ListAnswers:
    """Makes the answers; used on one event loop only."""

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        *,
        call_later: Callable[[Callable[[], None]], object] | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Begin with nothing.

        Args:
            call_soon: calls a function after the other requests had a turn.
            call_later: calls a function later, to try again after an answer could not be taken; by default
                the running loop's.
            clock: seconds; decides when a turn is over.
        """
        self._call_soon = call_soon
        self._call_later = call_later or _look_later
        self._clock = clock
        self._outcome: Response | Exception | None = None
        """The finished list that is being given to its requesters."""
        self._waiting: dict[Key, tuple[Make, list[Done]]] = {}
        self._slices: Generator[None, None, Response] | None = None
        """The list that is being made."""
        self._dones: list[Done] = []
        """The requesters that get it."""

    def ask(self, key: Key, make: Make, done: Done) -> None:
        """Order the list `key`; `done` gets it, at once if the list is short and nothing waits."""
        if key in self._waiting:
            self._waiting[key][1].append(done)
            return
        self._waiting[key] = (make, [done])
        if self._slices is None and self._outcome is None and len(self._waiting) == 1:
            self._turn()

    def _turn(self) -> None:
        """Make or give out lists until the time of a turn is used up."""
        deadline = self._clock() + TURN_SECONDS
        if self._outcome is None:
            self._make(deadline)
        has_room = self._outcome is None or self._hand_out(self._outcome, deadline)
        if self._is_busy:
            (self._call_soon if has_room else self._call_later)(self._turn)

    def _hand_out(self, outcome: Response | Exception, deadline: float) -> bool:
        """Give the answer to its requesters while the turn has time; return whether they could take it."""
        while self._dones:
            if not self._dones[0](outcome):
                return False
            del self._dones[0]
            if self._clock() >= deadline:
                break
        if not self._dones:
            self._outcome = None
        return True

    def _make(self, deadline: float) -> None:
        if self._slices is None:
            make, self._dones = self._waiting.pop(next(iter(self._waiting)))
            self._slices = make()
        try:
            while self._clock() < deadline:
                next(self._slices)
        except StopIteration as end:
            self._slices, self._outcome = None, end.value
        except Exception as error:  # noqa: BLE001 - a bad request or a bug: the requesters get the error
            self._slices, self._outcome = None, error

    @property
    def _is_busy(self) -> bool:
        return self._slices is not None or self._outcome is not None or bool(self._waiting)


def giving(
    request: RemotingCommand,
    answers: Answers,
    conclude: Callable[[Response | Exception], Response | Exception | None],
) -> Done:
    """Answer a request as soon as there is room for a large answer.

    Args:
        request: what was asked.
        answers: who gets the answer.
        conclude: counts the outcome; returns what to answer, None if it is answered later.
    """

    def done(outcome: Response | Exception) -> bool:
        if not answers.has_room:
            return False
        concluded = conclude(outcome)
        if isinstance(concluded, Exception):
            answers.respond_failure(request, concluded)
        elif concluded is not None:
            answers.respond(request, concluded)
        return True

    return done


def _look_later(callback: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(ROOM_LOOK_SECONDS, callback)
