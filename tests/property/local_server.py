"""namekeeper's core without its edges: requests in, answers as values out, one turn of a registration at a time."""

from collections.abc import Callable
from typing import Any

from namekeeper.config.runtime import RuntimeConfig
from namekeeper.config.settings import NamesrvSettings
from namekeeper.errors import RequestError
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.now import Now
from namekeeper.processor.dispatch import CHANGERS, not_supported
from namekeeper.processor.outcome import Deferred
from namekeeper.processor.state import NameServerState
from namekeeper.route.change import Applied, TableChange
from namekeeper.route.change_queue import ChangeQueue
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause, Change, Event
from namekeeper.route.removal import EndOfRegistration, end_sparing, overdue
from namekeeper.route.restore import RestoreRoutes
from namekeeper.route.tables import RouteTables
from namekeeper.wire.command import ONEWAY_FLAG, RemotingCommand, Response
from tests.differential.wire import as_value
from tests.support.java_model.values import Answer, Request
from tests.support.server.reading import is_read, read

__all__ = ["LocalServer"]

Done = Callable[[Answer], None]
Ended = Callable[[EndOfRegistration], None]


class LocalServer:
    """Every event that happened is in `events`; nothing runs but by a call."""

    def __init__(
        self, kv_config: KvConfigStore | None = None, changed: Callable[[Change], None] = lambda change: None
    ) -> None:
        settings = NamesrvSettings(allow_config_update=True)
        self.state = NameServerState(RuntimeConfig.start(settings, {}), kv_config or KvConfigStore())
        self.changed = changed
        """Gets every change in the turn in which it becomes visible."""
        self.queue = ChangeQueue(self.state.tables)
        self.channels: dict[int, Channel] = {}
        self.events: list[Event] = []

    def channel(self, conn: int) -> Channel:
        """Return the channel of a connection; a new one is open."""
        if conn not in self.channels:
            self.channels[conn] = Channel(conn, f"peer:{conn}")
        return self.channels[conn]

    def ask(self, request: Request, conn: int = 0, now_ms: int = 0) -> Answer | None:
        """Handle one request to the end, and whatever waits before it."""
        answers: list[Answer] = []
        self.begin(request, conn, now_ms, answers.append)
        self.run_all(now_ms)
        return None if request.one_way else answers[0]

    def begin(self, request: Request, conn: int, now_ms: int, done: Done) -> None:
        """Handle one request; `done` gets the answer, perhaps turns later."""
        command = RemotingCommand(
            code=request.code, language="JAVA", version=request.version, flag=ONEWAY_FLAG if request.one_way else 0,
            ext_fields=dict(request.fields), body=request.body,
        )  # fmt: skip
        if request.binary:
            command.ext_fields = {name: text for name, text in request.fields.items() if text}
        try:
            self._handle(command, conn, Now(now_ms, now_ms), done)
        except RequestError as error:
            done(_value(request.code, error))

    def turn(self, now_ms: int) -> None:
        """Advance the oldest registration under way by one slice."""
        self.queue.turn(Now(now_ms, now_ms))

    def run_all(self, now_ms: int) -> None:
        """Advance until nothing is under way."""
        while self.queue.is_busy:
            self.turn(now_ms)

    def close(self, conn: int, now_ms: int = 0, ended: Ended = lambda end: None) -> None:
        """The connection is gone; `ended` gets each registration whose turn to end has come."""
        channel = self.channel(conn)
        channel.is_open = False
        for live in self.state.tables.broker_live_table.over_channel(conn):
            end = EndOfRegistration(live.key, live.gen, Cause.CHANNEL_CLOSED)
            self._submit(end, Now(now_ms, now_ms), ended)

    def scan(self, now_ms: int, ended: Ended = lambda end: None) -> None:
        """End what is overdue."""
        now = Now(now_ms, now_ms)
        ends = overdue(self.state.tables, now)
        end_sparing(self.state.tables)
        for end in ends:
            self._submit(end, now, ended)

    def _handle(self, command: RemotingCommand, conn: int, now: Now, done: Done) -> None:
        code = command.code
        if is_read(code):
            done(_value(code, read(self.state, command)))
            return
        if code not in CHANGERS:
            done(_value(code, not_supported(command)))
            return
        outcome = CHANGERS[code](self.state, command, self.channel(conn), now)
        if isinstance(outcome, Deferred):
            self._defer(outcome, code, now, done)
            return
        if outcome.change is not None:
            self._happened(outcome.change)
        done(_value(code, outcome.response))

    def _defer(self, deferred: Deferred, code: int, now: Now, done: Done) -> None:
        def finish(change: TableChange[Any], applied: Applied[Any] | Exception) -> None:
            if isinstance(applied, Exception):
                done(_value(code, applied))
                return
            self._happened(Change(change.cause, change.remote_addr, applied.events))
            try:
                done(_value(code, deferred.answer(applied.result)))
            except RequestError as error:
                done(_value(code, error))

        self.queue.submit(deferred.change, finish, now=now)

    def restore(self, source: RouteTables, idle_ms: int, now_ms: int) -> None:
        """Begin with the tables of an earlier boot, whose brokers were silent for so long."""

        def finish(change: TableChange[Any], applied: Applied[Any] | Exception) -> None:
            assert isinstance(applied, Applied)
            self._happened(Change(change.cause, change.remote_addr, applied.events))

        change = RestoreRoutes(source, {live.key: idle_ms for live in source.broker_live_table})
        self.queue.submit(change, finish, now=Now(now_ms, now_ms))

    def _submit(self, end: EndOfRegistration, now: Now, ended: Ended) -> None:
        def finish(change: TableChange[Any], applied: Applied[Any] | Exception) -> None:
            if isinstance(applied, Exception):
                raise applied
            self._happened(Change(change.cause, change.remote_addr, applied.events))
            ended(end)

        self.queue.submit(end, finish, now=now)

    def _happened(self, change: Change) -> None:
        self.events += change.events
        self.changed(change)


def _value(code: int, answer: Response | Exception) -> Answer:
    if isinstance(answer, RequestError):
        return Answer(int(answer.code), answer.remark)
    if isinstance(answer, Exception):
        raise answer
    header = {"code": int(answer.code), "remark": answer.remark, "extFields": answer.ext_fields}
    return as_value(code, header, answer.body)
