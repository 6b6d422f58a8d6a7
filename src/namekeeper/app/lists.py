"""Answers that show many topics or brokers, made one at a time and incrementally.

The server handles other requests in between. Waiting requests for the same list share one answer, made from
the tables as they are after all of them came.
"""

import asyncio
from collections.abc import Callable, Generator, Hashable, Iterable
from typing import NamedTuple

from namekeeper.app.durations import Answers
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.remoting.unread import ROOM_LOOK_SECONDS
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["ListAnswers", "giving"]

Key = Hashable
"""The requested list and the form of JSON: requests with the same key get the same answer."""
Make = Callable[[], Generator[None, None, Response]]
Done = Callable[["Response | Exception"], bool]
"""Gets the answer or the error; returns whether it could take it. If not, it is called again."""
HasLeft = Callable[[], bool]
"""Whether the requester has left, and needs no answer."""

MANY_REQUESTS = 64
"""Requests between two searches for requesters that left, plus those that stayed in the last search."""


class _Requester(NamedTuple):
    done: Done
    has_left: HasLeft


class ListAnswers:
    """Makes the answers; used on one event loop only."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        call_later: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """Start empty.

        Args:
            scheduler: makes the lists between other requests.
            call_later: calls a function later, to try again after an answer could not be taken; by default
                the running loop's.
        """
        self._scheduler = scheduler
        self._call_later = call_later or _look_later
        self._outcome: Response | Exception | None = None
        """The finished list that its requesters are getting."""
        self._waiting: dict[Key, tuple[Make, list[_Requester]]] = {}
        self._slices: Generator[None, None, Response] | None = None
        """The list under way."""
        self._requesters: list[_Requester] = []
        """The requesters of the list."""
        self._is_running = False
        """Whether `_step` will be called."""
        self._until_search = MANY_REQUESTS
        """Further requests until the next search for requesters that left."""

    def ask(self, key: Key, make: Make, done: Done, has_left: HasLeft) -> None:
        """Order the list `key`; `done` gets it, at once if the list is short and no other one waits."""
        self._until_search -= 1
        if self._until_search < 0:
            self._forget_those_that_left()
        self._waiting.setdefault(key, (make, []))[1].append(_Requester(done, has_left))
        if not self._is_running:
            self._is_running = True
            self._scheduler.start(self._step)

    def _forget_those_that_left(self) -> None:
        """Keep no request of a closed connection: peers may ask and leave while there is no room."""
        waiting = {key: (make, _staying(some)) for key, (make, some) in self._waiting.items()}
        self._waiting = {key: (make, some) for key, (make, some) in waiting.items() if some}
        self._requesters = _staying(self._requesters)
        stayed = len(self._requesters) + sum(len(some) for _, some in self._waiting.values())
        self._until_search = stayed + MANY_REQUESTS

    def _step(self) -> bool:
        """Make a slice of a list, or give a list to one requester; return whether to go on at once."""
        if self._outcome is None:
            self._make()
        if self._outcome is not None and not self._hand_out(self._outcome):
            self._call_later(lambda: self._scheduler.start(self._step))
            return False
        self._is_running = self._is_busy
        return self._is_running

    def _hand_out(self, outcome: Response | Exception) -> bool:
        """Give the answer to its next requester; return whether the requester could take it."""
        if self._requesters and not self._requesters[0].done(outcome):
            return False
        del self._requesters[:1]
        if not self._requesters:
            self._outcome = None
        return True

    def _make(self) -> None:
        if self._slices is None:
            make, self._requesters = self._waiting.pop(next(iter(self._waiting)))
            self._slices = make()
        try:
            next(self._slices)
        except StopIteration as end:
            self._slices, self._outcome = None, end.value
        except Exception as error:  # noqa: BLE001 - a bad request or a bug: the requesters get the error
            self._slices, self._outcome = None, error

    @property
    def _is_busy(self) -> bool:
        return self._slices is not None or self._outcome is not None or bool(self._waiting)


def _staying(requesters: Iterable[_Requester]) -> list[_Requester]:
    return [each for each in requesters if not each.has_left()]


def giving(
    request: RemotingCommand,
    answers: Answers,
    conclude: Callable[[Response | Exception], Response | Exception | None],
) -> Done:
    """Answer a request as soon as there is room for a large answer.

    Args:
        request: a decoded one that waits for its answer.
        answers: the receiver of the answer.
        conclude: counts the outcome; returns the answer, None if it comes later.
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
