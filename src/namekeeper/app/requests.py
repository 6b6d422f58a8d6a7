"""Answers requests on a running server: by handlers, the change queue, and written files."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import structs

from namekeeper.app.durations import Answers, Durations
from namekeeper.app.effects import Effects
from namekeeper.app.lists import ListAnswers, giving
from namekeeper.app.saver import Saver
from namekeeper.clock import Clock
from namekeeper.errors import RequestError
from namekeeper.processor import dispatch
from namekeeper.processor.dispatch import CHANGERS, LISTERS, READERS
from namekeeper.processor.handlers import Reader
from namekeeper.processor.outcome import Deferred, Outcome, Sliced
from namekeeper.processor.routing import refuse_lookup, remember_answer
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.route.build_order import QueuedChange
from namekeeper.route.change import Applied, TableChange
from namekeeper.route.change_queue import ChangeQueue
from namekeeper.route.channel import Channel
from namekeeper.route.commit import RegisterResult
from namekeeper.route.events import Change
from namekeeper.route.registration import RegisterBroker
from namekeeper.route.topics import RegisterTopic
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

if TYPE_CHECKING:
    from namekeeper.app.cluster_test import ClusterTest  # its import of the remoting client is slow

__all__ = ["Requests"]

log = logging.getLogger("namekeeper.namesrv")

GET_ROUTEINFO_BY_TOPIC = int(RequestCode.GET_ROUTEINFO_BY_TOPIC)

LONG_NAMES = 100
"""A lookup takes long if more broker names may have the topic: its answer takes about half a millisecond."""

OTHER = -1
"""The common number of all unhandled codes: peers must not make the table of counts grow."""


FIELDS_KEPT = 32
"""Ext fields that stay of a request whose connection has closed, for a record of it."""
FIELD_CHARACTERS_KEPT = 1_024
"""Characters of such a field; a longer field is dropped."""


LEFT_LIMIT = 1_000
"""Changes that wait for a busy broker name although their connection has closed."""


class _AskedChange:
    """A change that a request asked for, until it is made."""

    __slots__ = ("body_bytes", "channel", "connection", "deferred", "queued", "request", "user")

    def __init__(self, deferred: Deferred, request: RemotingCommand, connection: Answers) -> None:
        self.deferred = deferred
        self.request = request
        self.body_bytes = len(request.body)
        self.connection: Answers | None = connection
        """The receiver of the answer; None once it is closed."""
        self.channel = connection.channel
        self.user = connection.channel.user
        self.queued: QueuedChange | None = None
        """Place in the queue of changes while it waits there; each refers to the other."""

    def leave(self) -> None:
        """Keep little of the request, because its connection has closed and thousands may do the same."""
        self.connection = None
        few = islice((self.request.ext_fields or {}).items(), FIELDS_KEPT)
        fields = {name: value for name, value in few if len(name) + len(value) <= FIELD_CHARACTERS_KEPT}
        self.request = RemotingCommand(code=self.request.code, ext_fields=fields)
        change = self.deferred.change
        if isinstance(change, RegisterBroker | RegisterTopic):
            change.give_up()


class Requests:
    """Handles every request of every connection."""

    def __init__(
        self,
        state: NameServerState,
        effects: Effects,
        saver: Saver,
        *,
        clock: Clock,
        scheduler: Scheduler,
        cluster_test: "ClusterTest | None" = None,
    ) -> None:
        """Prepare.

        Args:
            state: the state to answer from.
            effects: carries out the effects of changes.
            saver: writes files before the answer is sent.
            clock: the time of each change.
            scheduler: makes changes and lists between other requests.
            cluster_test: looks up topics that no broker here has; None unless `clusterTest` is on.
        """
        self._state = state
        self._effects = effects
        self._saver = saver
        self._clock = clock
        self._scheduler = scheduler
        self._queue = ChangeQueue(state.tables)
        self._is_advancing = False
        self._asked: dict[Channel, set[_AskedChange]] = {}
        """Channel -> the changes that it waits for."""
        self._left: dict[_AskedChange, None] = {}
        """Changes whose connection has closed, in the order of these closings."""
        self._series: deque[Iterator[TableChange[Any]]] = deque()
        self._lists = ListAnswers(scheduler)
        self._wide_routes = ListAnswers(scheduler)  # apart: a lookup does not wait behind lists
        self._journaling = effects.journaling
        self._lookups = state.lookup_cache
        forgetting = state.route_answers.forgetting
        forgetting.when_unfinished(lambda: scheduler.add(forgetting.forget_some))
        self._cluster_test = cluster_test
        self.counts: dict[int, int] = dict.fromkeys([*READERS, *LISTERS, *CHANGERS, OTHER], 0)
        """Requests by code."""
        self.durations = Durations(self.counts, OTHER)
        readers: Mapping[int, Reader] = READERS if cluster_test is None else cluster_test.readers
        self._readers = {code: self.durations.timed_reader(code, readers[code]) for code in readers}
        self._results: dict[tuple[int, int], int] = {}
        """Requests by code and by the answer's code, where that is not SUCCESS."""
        self.registrations: dict[str, int] = {}
        """REGISTER_BROKER by outcome, see `RegisterResult.outcome`; `failed` if it has none."""
        self.registration_bytes = 0

    @property
    def unsaved_files(self) -> bool:
        """Whether the last attempt to write some file failed."""
        return self._saver.has_failed

    def by_result(self) -> dict[tuple[int, int], int]:
        """Requests by code and by the code of the answer."""
        results = dict(self._results)
        counts = dict(self.counts)
        counts[RequestCode.GET_ROUTEINFO_BY_TOPIC] += self._lookups.found
        for code, count in counts.items():
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
            RequestError: the answer is an error code.
        """
        code = request.code
        reader = self._readers.get(code)
        if reader is None:
            return self.durations.timed(self._change, request, connection)
        self.counts[code] += 1
        revision = self._lookups.revision
        try:
            response = reader(self._state, request)
        except Exception as error:
            self.failed(request, connection, error)
            raise
        if isinstance(response, Sliced):
            self._order(self._wide_routes, response, request, connection)
            return None
        if response.code:
            return self._not_success(request, connection, response)
        if code == GET_ROUTEINFO_BY_TOPIC:
            remember_answer(self._lookups, request, response.body, revision)
        return response

    def failed(self, request: RemotingCommand, connection: Answers, error: Exception) -> None:
        """Count a request that ends with an error instead of a response."""
        self._count_failure(request.code, error)
        self._count_failed_registration(request)
        self._journaling.refused(request, connection.channel.remote_addr, error)

    def takes_long(self, lookup: RemotingCommand) -> bool:
        """Whether a lookup takes long, by the number of broker names that may have its topic."""
        topic = (lookup.ext_fields or {}).get("topic", "")
        return self._state.tables.topic_index.count(topic) > LONG_NAMES

    def drain(self) -> None:
        """Answer GO_AWAY from now on to requesters that understand it."""
        self._state.is_draining = True
        self._lookups.close()
        self._readers = {code: dispatch.unless_leaving(reader) for code, reader in self._readers.items()}

    def refuse_lookups(self) -> None:
        """Answer 105 from now on with an error, so that clients ask another name server (R#11073)."""
        self._lookups.close()
        self._readers = {**self._readers, GET_ROUTEINFO_BY_TOPIC: refuse_lookup}

    def _not_success(
        self, request: RemotingCommand, connection: Answers, response: Response
    ) -> Response | None:
        cluster_test = self._cluster_test
        topic = None if cluster_test is None else cluster_test.topic_to_look_up(request, response)
        if cluster_test is None or topic is None:
            self._count_not_success(request, response)
            return response

        def answer(body: bytes | None) -> None:
            if body is None:
                self._count_not_success(request, response)
            connection.respond(request, response if body is None else Response(body=body))

        cluster_test.look_up(topic, answer)
        return None

    def _change(self, request: RemotingCommand, connection: Answers) -> Response | None:
        changer = CHANGERS.get(request.code)
        lister = LISTERS.get(request.code)
        code = request.code if changer is not None or lister is not None else OTHER
        self.counts[code] += 1
        goodbye = dispatch.go_away(self._state, request) if self._state.is_draining else None
        if lister is not None and goodbye is None:
            self._order(self._lists, dispatch.sliced(lister, self._state, request), request, connection)
            return None
        if changer is None or goodbye is not None:
            response = goodbye or dispatch.not_supported(request)
            self._count_result(code, response.code)
            return response
        try:
            outcome = changer(self._state, request, connection.channel, self._clock.now())
            if isinstance(outcome, Outcome):
                return self._conclude(outcome, request, connection)
        except Exception as error:
            self.failed(request, connection, error)
            raise
        self._submit(outcome, request, connection)
        return None

    def _order(self, lists: ListAnswers, what: Sliced, request: RemotingCommand, connection: Answers) -> None:
        def conclude(outcome: Response | Exception) -> Response | Exception | None:
            if isinstance(outcome, Exception):
                self.failed(request, connection, outcome)
            elif outcome.code:
                return self._not_success(request, connection, outcome)
            elif request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
                self._lookups.count((request.ext_fields or {})["topic"])
            return outcome

        request.body = b""  # no list needs it, and its answer may wait for room
        give, channel = giving(request, connection, conclude), connection.channel
        lists.ask(what.key, what.make, give, lambda: not channel.is_open)

    def submit(self, change: TableChange[Any], done: Callable[[Any], None] | None = None) -> None:
        """Submit a change that no request asked for; `done` gets its result."""

        def finish(change: TableChange[Any], applied: Applied[Any] | Exception) -> None:
            if isinstance(applied, Exception):
                log.error("a change of the tables failed: %r", change, exc_info=applied)
                return
            self._effects.apply(Change(change.cause, change.remote_addr, applied.events))
            if done is not None:
                done(applied.result)

        self._queue.submit(change, finish, now=self._clock.now())
        self._go_on()

    def submit_all(self, changes: Iterable[TableChange[Any]]) -> None:
        """Submit changes one after the other, after those of earlier calls, between other requests."""
        self._series.append(iter(changes))
        if len(self._series) == 1:
            self._scheduler.start(self._submit_next)

    def _submit_next(self) -> bool:
        """Submit the next change of the oldest series; return whether more may remain."""
        change = next(self._series[0], None)
        if change is None:
            self._series.popleft()
        else:
            self.submit(change)
        return bool(self._series)

    def leave(self, channel: Channel) -> None:
        """Give up the bodies of requests that wait, because their connection has closed.

        The changes are made nevertheless, as if the connection had closed after the answer. But if there are
        too many, the oldest of them are not made: nobody waits for them, and a busy name may have any number.
        """
        for asked in self._asked.pop(channel, ()):
            asked.leave()
            self._left[asked] = None
        while len(self._left) > LEFT_LIMIT:
            self._give_up(next(iter(self._left)))

    def _give_up(self, left: _AskedChange) -> None:
        """Make a change not that waits for its broker names; one that has started ends as usual."""
        del self._left[left]
        queued, left.queued = left.queued, None
        if queued is not None and self._queue.drop(queued):
            self._count_result(left.request.code, ResponseCode.SYSTEM_BUSY)

    def _submit(self, deferred: Deferred, request: RemotingCommand, connection: Answers) -> None:
        asked = _AskedChange(deferred, request, connection)
        self._asked.setdefault(asked.channel, set()).add(asked)
        queued = self._queue.submit(deferred.change, partial(self._finish, asked), now=self._clock.now())
        if queued.is_waiting:
            asked.queued = queued
        self._go_on()

    def _finish(self, asked: _AskedChange, _: TableChange[Any], applied: Applied[Any] | Exception) -> None:
        """Conclude a change and answer the request, if its connection is open."""
        self._forget(asked)
        if isinstance(applied, Exception):
            if asked.request.code == RequestCode.REGISTER_BROKER:
                self._count_registration("failed", asked.body_bytes)
            self._fail(asked, applied)
            return
        try:
            self._effects.concluded(asked.request, applied.result, asked.channel, asked.user)
            response = self._apply(asked, applied)
        except Exception as error:  # noqa: BLE001 - the requester gets an answer to any error, logged
            self._fail(asked, error)
        else:
            if asked.connection is not None:
                asked.connection.respond(asked.request, response)

    def _fail(self, asked: _AskedChange, error: Exception) -> None:
        self._count_failure(asked.request.code, error)
        if asked.connection is not None:
            asked.connection.respond_failure(asked.request, error)

    def _forget(self, asked: _AskedChange) -> None:
        asked.queued = None
        self._left.pop(asked, None)
        waiting = self._asked.get(asked.channel)
        if waiting is not None:
            waiting.discard(asked)
            if not waiting:
                del self._asked[asked.channel]

    def _apply(self, asked: _AskedChange, applied: Applied[Any]) -> Response:
        """Carry out the effects of a change; return the answer, or raise its error."""
        change = asked.deferred.change
        if isinstance(applied.result, RegisterResult):
            self._count_registration(applied.result.outcome, asked.body_bytes)
        events = (*applied.events, *self._state.missing.retired(change))
        self._effects.apply(Change(change.cause, change.remote_addr, events, asked.user))
        return asked.deferred.answer(applied.result)

    def _count_not_success(self, request: RemotingCommand, response: Response) -> None:
        self._count_result(request.code, response.code)
        if (
            request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
            and response.code == ResponseCode.TOPIC_NOT_EXIST
        ):
            self._journaling.not_found(request)

    def _count_failure(self, code: int, error: Exception) -> None:
        self._count_result(code, error.code if isinstance(error, RequestError) else ResponseCode.SYSTEM_ERROR)

    def _count_result(self, code: int, result: int) -> None:
        self._results[code, result] = self._results.get((code, result), 0) + 1

    def _count_failed_registration(self, request: RemotingCommand) -> None:
        if request.code == RequestCode.REGISTER_BROKER:
            self._count_registration("failed", len(request.body))

    def _count_registration(self, outcome: str, size: int) -> None:
        self.registrations[outcome] = self.registrations.get(outcome, 0) + 1
        self.registration_bytes += size

    def _conclude(self, outcome: Outcome, request: RemotingCommand, connection: Answers) -> Response | None:
        if outcome.change is not None:
            self._effects.apply(structs.replace(outcome.change, user=connection.channel.user))
        if outcome.save is None:
            return outcome.response

        def answer(failure: Response | None) -> None:
            if failure is not None:
                self._count_result(request.code, failure.code)
            connection.respond(request, failure or outcome.response)

        self._saver.save(outcome.save, answer)
        return None

    def _go_on(self) -> None:
        if self._queue.is_busy and not self._is_advancing:
            self._is_advancing = True
            self._scheduler.add(self._advance)

    def _advance(self) -> bool:
        """Run a slice of a build; return whether more slices or changes wait."""
        self._queue.turn(self._clock.now(), self._scheduler.has_time)
        self._is_advancing = self._queue.is_busy
        return self._is_advancing
