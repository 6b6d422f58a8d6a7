"""From a request to its answer on a running server: handlers, the change queue and its turns, files."""

import logging
from collections.abc import Callable
from typing import Any

from namekeeper.app.effects import Effects
from namekeeper.app.saver import Saver
from namekeeper.clock import Clock
from namekeeper.errors import RequestError
from namekeeper.processor.dispatch import CHANGERS, READERS, go_away, not_supported
from namekeeper.processor.outcome import Deferred, Outcome
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.connection import ServerConnection
from namekeeper.route.change import Applied, TableChange
from namekeeper.route.change_queue import ChangeQueue
from namekeeper.route.commit import RegisterResult
from namekeeper.route.events import Change
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["Requests"]

log = logging.getLogger("namekeeper.namesrv")


class Requests:
    """Handles every request of every connection."""

    def __init__(
        self,
        state: NameServerState,
        effects: Effects,
        saver: Saver,
        *,
        clock: Clock,
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self._state = state
        self._effects = effects
        self._saver = saver
        self._clock = clock
        self._call_soon = call_soon
        self._queue = ChangeQueue(state.tables, clock.now())
        self._has_turn = False
        self._readers = READERS
        """Emptied while draining: a look-up then takes the long way, and asks nothing before."""
        self.counts: dict[int, int] = dict.fromkeys([*READERS, *CHANGERS], 0)
        """Requests by code; unknown codes are counted together under -1."""
        self.counts[-1] = 0
        self._results: dict[tuple[int, int], int] = {}
        """Requests by code and by the answer's code, where that is not SUCCESS."""
        self.registrations: dict[str, int] = {}
        """REGISTER_BROKER by what it came to, see `RegisterResult.outcome`; `failed` when it was refused."""
        self.registration_bytes = 0

    @property
    def unsaved_files(self) -> bool:
        """Whether a file could not be written when it was last tried."""
        return self._saver.has_failed

    def by_result(self) -> dict[tuple[int, int], int]:
        """Requests by code and by the code of the answer."""
        results = dict(self._results)
        for code, count in self.counts.items():
            failed = sum(number for (request, _), number in self._results.items() if request == code)
            results[code, ResponseCode.SUCCESS] = count - failed
        return results

    @property
    def waiting(self) -> int:
        """Changes under way or waiting."""
        return len(self._queue)

    def __call__(self, request: RemotingCommand, connection: ServerConnection) -> Response | None:
        """Answer at once, or return None and answer later through the connection.

        Raises:
            RequestError: the answer is another code.
        """
        code = request.code
        reader = self._readers.get(code)
        if reader is not None:
            self.counts[code] += 1
            response = reader(self._state, request)
            if response.code:
                self._count_result(code, response.code)
            return response
        if self._state.is_draining:
            return self._answer_while_draining(request, connection)
        return self._change(request, connection)

    def drain(self) -> None:
        """Tell requesters to go away from now on, if they understand it."""
        self._state.is_draining = True
        self._readers = {}

    def _answer_while_draining(
        self, request: RemotingCommand, connection: ServerConnection
    ) -> Response | None:
        goodbye = go_away(self._state, request)
        if goodbye is not None:
            return goodbye
        reader = READERS.get(request.code)
        return reader(self._state, request) if reader is not None else self._change(request, connection)

    def _change(self, request: RemotingCommand, connection: ServerConnection) -> Response | None:
        code = request.code
        changer = CHANGERS.get(code)
        if changer is None:
            self.counts[-1] += 1
            self._count_result(-1, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
            return not_supported(request)
        self.counts[code] += 1
        try:
            outcome = changer(self._state, request, connection.channel, self._clock.now())
        except RequestError as error:
            self._count_result(code, error.code)
            raise
        if isinstance(outcome, Deferred):
            self._submit(outcome, request, connection)
            return None
        return self._conclude(outcome, request, connection)

    def submit(self, change: TableChange[Any], done: Callable[[Any], None] | None = None) -> None:
        """Have a change made that no request asked for; `done` is told its result."""

        def finish(change: TableChange[Any], applied: Applied[Any] | Exception) -> None:
            if isinstance(applied, Exception):
                log.error("a change of the tables failed: %r", change, exc_info=applied)
                return
            self._effects.apply(Change(change.cause, change.remote_addr, applied.events))
            if done is not None:
                done(applied.result)

        self._queue.submit(change, finish, now=self._clock.now())
        self._take_turns()

    def _submit(self, deferred: Deferred, request: RemotingCommand, connection: ServerConnection) -> None:
        def finish(change: TableChange[Any], applied: Applied[Any] | Exception) -> None:
            if isinstance(applied, Exception):
                self._fail(request, connection, applied)
                return
            self._effects.apply(Change(change.cause, change.remote_addr, applied.events))
            if isinstance(applied.result, RegisterResult):
                self._count_registration(applied.result.outcome, len(request.body))
            try:
                response = deferred.answer(applied.result)
            except Exception as error:  # noqa: BLE001 - whatever it is, who asked is answered and it is logged
                self._fail(request, connection, error)
            else:
                connection.respond(request, response)

        self._queue.submit(deferred.change, finish, now=self._clock.now())
        self._take_turns()

    def _fail(self, request: RemotingCommand, connection: ServerConnection, error: Exception) -> None:
        code = error.code if isinstance(error, RequestError) else ResponseCode.SYSTEM_ERROR
        self._count_result(request.code, code)
        if request.code == RequestCode.REGISTER_BROKER and not isinstance(error, RequestError):
            self._count_registration("failed", len(request.body))
        connection.respond_failure(request, error)

    def _count_result(self, code: int, result: int) -> None:
        self._results[code, result] = self._results.get((code, result), 0) + 1

    def _count_registration(self, outcome: str, size: int) -> None:
        self.registrations[outcome] = self.registrations.get(outcome, 0) + 1
        self.registration_bytes += size

    def _conclude(
        self, outcome: Outcome, request: RemotingCommand, connection: ServerConnection
    ) -> Response | None:
        if outcome.change is not None:
            self._effects.apply(outcome.change)
        if outcome.save is None:
            return outcome.response
        response = outcome.response
        self._saver.save(
            outcome.save,
            lambda failure: connection.respond(request, failure if failure is not None else response),
        )
        return None

    def _take_turns(self) -> None:
        if self._queue.has_work and not self._has_turn:
            self._has_turn = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        """One slice of the oldest build; everybody else is served before the next."""
        self._has_turn = False
        self._queue.turn(self._clock.now())
        self._take_turns()
