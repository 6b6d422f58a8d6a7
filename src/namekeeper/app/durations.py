"""Durations of requests until their answers, counted in buckets for a histogram.

All requests are timed except lookups, of which there are thousands: `remoting/sampling.py` times some of
them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import partial
from time import perf_counter
from typing import Protocol

from namekeeper.http.stats import DURATION_BOUNDS, DurationStats
from namekeeper.processor.handlers import Reader
from namekeeper.processor.outcome import Sliced
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["Answers", "Durations"]


class Answers(Protocol):
    """The receiver of the answer to a request: a connection."""

    @property
    def channel(self) -> Channel:
        """The channel of the connection."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether one more large answer may be written."""
        ...

    def respond(self, request: RemotingCommand, response: Response) -> None:
        """Answer a request for which the handler returned None."""
        ...

    def respond_failure(self, request: RemotingCommand, error: Exception) -> None:
        """Answer a request whose later work failed."""
        ...


class Durations:
    """Counts durations by request code."""

    def __init__(self, codes: Iterable[int], other: int) -> None:
        """Start at 0.

        Args:
            codes: codes with a count of their own.
            other: the number under which all other codes are counted.
        """
        self._counts = {code: [0] * (len(DURATION_BOUNDS) + 1) for code in (*codes, other)}
        self._seconds = dict.fromkeys(self._counts, 0.0)
        self._other = other

    def note(self, code: int, seconds: float, times: int = 1) -> None:
        """Count requests that took the same time each."""
        self._counts[code][bisect_left(DURATION_BOUNDS, seconds)] += times
        self._seconds[code] += seconds * times

    def note_lookups(self, seconds: float, count: int) -> None:
        """Count lookups that were answered in one go, with their total time."""
        self.note(RequestCode.GET_ROUTEINFO_BY_TOPIC, seconds / count, count)

    def stats(self) -> dict[int, DurationStats]:
        """Code -> its counts."""
        return {
            code: DurationStats(buckets=tuple(counts), seconds=self._seconds[code])
            for code, counts in self._counts.items()
        }

    def timed(
        self,
        handle: Callable[[RemotingCommand, Answers], Response | None],
        request: RemotingCommand,
        answers: Answers,
    ) -> Response | None:
        """Handle a request, and note the time until its answer, which may come later."""
        code = request.code if request.code in self._counts else self._other
        timed = _TimedAnswers(answers, partial(self.note, code))
        try:
            response = handle(request, timed)
        except Exception:
            timed.end()
            raise
        if response is not None:
            timed.end()
        return response

    def timed_reader(self, code: int, reader: Reader) -> Reader:
        """A timed reader; lookups are not timed."""
        if code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            return reader

        def read(state: NameServerState, request: RemotingCommand) -> Response | Sliced:
            began = perf_counter()
            try:
                return reader(state, request)
            finally:
                self.note(code, perf_counter() - began)

        return read


class _TimedAnswers:
    """Passes on the answer to one request, and notes its duration."""

    __slots__ = ("_answers", "_began", "_note")

    def __init__(self, answers: Answers, note: Callable[[float], None]) -> None:
        self._answers = answers
        self._note = note
        self._began = perf_counter()

    @property
    def channel(self) -> Channel:
        return self._answers.channel

    @property
    def has_room(self) -> bool:
        return self._answers.has_room

    def respond(self, request: RemotingCommand, response: Response) -> None:
        self._answers.respond(request, response)
        self.end()

    def respond_failure(self, request: RemotingCommand, error: Exception) -> None:
        self._answers.respond_failure(request, error)
        self.end()

    def end(self) -> None:
        """Note the time until now."""
        self._note(perf_counter() - self._began)
