"""A name server without sockets, files or a clock: requests in, responses and events out."""

from typing import Any

from namekeeper.config.startup import make_startup
from namekeeper.errors import RequestError
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.messages.body_checksum import masked_crc32
from namekeeper.processor.dispatch import CHANGERS, not_supported
from namekeeper.processor.outcome import Deferred, Save
from namekeeper.processor.state import NameServerState
from namekeeper.route.change import Applied
from namekeeper.route.change_queue import ChangeQueue
from namekeeper.route.channel import Channel
from namekeeper.route.events import Event
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.server.builders import CLUSTER, at, channel
from tests.support.server.reading import is_read, read


class InMemoryNameServer:
    """The state and the handlers of a name server, each request carried through at once."""

    def __init__(self, **properties: str) -> None:
        startup = make_startup(environment={}, flags=dict(properties))
        self.state = NameServerState(startup.runtime_config, KvConfigStore())
        self.queue = ChangeQueue(self.state.tables)
        self.now = at(0)
        self.events: list[Event] = []
        self.saved: list[Save] = []

    def ask(
        self,
        code: int,
        fields: dict[str, str] | None = None,
        body: bytes = b"",
        *,
        over: Channel | None = None,
        version: int = 513,
    ) -> Response:
        request = RemotingCommand(code=code, version=version, ext_fields=fields, body=body)
        try:
            return self._ask(request, over or channel())
        except RequestError as error:
            return Response(error.code, error.remark)

    def _ask(self, request: RemotingCommand, over: Channel) -> Response:
        if is_read(request.code):
            return read(self.state, request)
        if request.code not in CHANGERS:
            return not_supported(request)
        outcome = CHANGERS[request.code](self.state, request, over, self.now)
        if isinstance(outcome, Deferred):
            return self._carry_through(outcome)
        if outcome.change:
            self.events += outcome.change.events
        if outcome.save:
            self.saved.append(outcome.save)
        return outcome.response

    def _carry_through(self, deferred: Deferred) -> Response:
        done: list[Any] = []
        self.queue.submit(deferred.change, lambda _, applied: done.append(applied), now=self.now)
        while self.queue.is_busy:
            self.queue.turn(self.now)
        (applied,) = done
        if isinstance(applied, Exception):
            raise applied
        assert isinstance(applied, Applied)
        self.events += applied.events
        return deferred.answer(applied.result)

    def register(
        self, body: bytes, *, over: Channel | None = None, version: int = 513, **fields: str
    ) -> Response:
        header = {
            "brokerName": "broker-a",
            "brokerAddr": "10.0.0.1:10911",
            "clusterName": CLUSTER,
            "haServerAddr": "10.0.0.1:10912",
            "brokerId": "0",
            "bodyCrc32": str(masked_crc32(body)) if body else "0",
            **fields,
        }
        return self.ask(103, header, body, over=over, version=version)
