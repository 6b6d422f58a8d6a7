"""Answers that show many topics or brokers, made one at a time and incrementally.

The server handles other requests in between. Waiting requests for the same list share one answer, made from
the tables as they are after all of them came.
"""

import asyncio
from collections.abc import Callable, Generator, Hashable

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
        self._waiting: dict[Key, tuple[Make, list[Done]]] = {}
        self._slices: Generator[None, None, Response] | None = None
        """The list under way."""
        self._dones: list[Done] = []
        """The requesters of the list."""

    def ask(self, key: Key, make: Make, done: Done) -> None:
        """Order the list `key`; `done` gets it, at once if the list is short and no other one waits."""
        if key in self._waiting:
            self._waiting[key][1].append(done)
            return
        self._waiting[key] = (make, [done])
        if self._slices is None and self._outcome is None and len(self._waiting) == 1:
            self._scheduler.start(self._step)

    def _step(self) -> bool:
        """Make a slice of a list, or give a list to one requester; return whether to go on at once."""
        if self._outcome is None:
            self._make()
        if self._outcome is not None and not self._hand_out(self._outcome):
            self._call_later(lambda: self._scheduler.start(self._step))
            return False
        return self._is_busy

    def _hand_out(self, outcome: Response | Exception) -> bool:
        """Give the answer to its next requester; return whether the requester could take it."""
        if not self._dones[0](outcome):
            return False
        del self._dones[0]
        if not self._dones:
            self._outcome = None
        return True

    def _make(self) -> None:
        if self._slices is None:
            make, self._dones = self._waiting.pop(next(iter(self._waiting)))
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
