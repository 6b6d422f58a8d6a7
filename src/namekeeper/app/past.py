"""A name server of the past: it listens, and answers every read request from old tables."""

import asyncio
from collections.abc import Callable
from typing import Self

from namekeeper.app.effects import Effects
from namekeeper.app.journaling import Journaling
from namekeeper.app.requests import Requests
from namekeeper.app.saver import Saver
from namekeeper.app.stop_signals import stopping_by_signals
from namekeeper.clock import Clock, SystemClock
from namekeeper.processor.past import refuse_change
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.address import Address
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import Answering, ConnectionHooks, Handler
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.remoting.server import RemotingServer
from namekeeper.route.events import MinBrokerIdChanged
from namekeeper.wire.codes import ResponseCode, SerializeType
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["PastNameServer", "run_past"]


class PastNameServer:
    """A read-only name server; an async context manager that listens while it is entered.

    Nothing expires, nothing is written to a disk, and no broker is notified. It answers NO_PERMISSION (16) to
    a request that could change something. Without a state it answers SYSTEM_ERROR (1) to every request,
    because an answer from empty tables would be incorrect.

    Args:
        state: the state as it was; None if it is not known.
        remark: a sentence that names the instant; it is the remark of every refusal.
        host: the address on which it listens.
        port: its port; 0 picks a free one.
        clock: the time.
    """

    def __init__(
        self,
        state: NameServerState | None,
        remark: str,
        *,
        host: str,
        port: int,
        clock: Clock | None = None,
    ) -> None:
        if state is None:
            handler, answering, hooks = _answering_error(remark), Answering(), ConnectionHooks()
        else:
            scheduler = Scheduler()
            requests = _requests(state, clock or SystemClock(), scheduler)
            handler = _read_only(requests, remark)
            answering = Answering(
                serialize_type=SerializeType[state.settings.serialize_type],
                lookup_cache=state.cache_of_connections,
                scheduler=scheduler,
            )
            hooks = ConnectionHooks(takes_long=requests.takes_long)
        self._server = RemotingServer(
            handler, listen=ListenOptions(host, port), answering=answering, hooks=hooks
        )

    @property
    def address(self) -> Address:
        """The address on which it listens."""
        return self._server.addresses[0]

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            ConfigError: the address can't be used.
        """
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()


async def run_past(server: PastNameServer, listening: Callable[[Address], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        server: the name server.
        listening: called once it listens.

    Raises:
        ConfigError: the address can't be used.
    """
    stop = asyncio.Event()
    with stopping_by_signals(stop.set):
        async with server:
            listening(server.address)
            await stop.wait()


def _requests(state: NameServerState, clock: Clock, scheduler: Scheduler) -> Requests:
    effects = Effects(Journaling(state, clock=clock), _notify_nobody)
    return Requests(state, effects, Saver({}), clock=clock, scheduler=scheduler)


def _read_only(requests: Requests, remark: str) -> Handler:
    def answer(request: RemotingCommand, connection: ServerConnection) -> Response | None:
        refuse_change(request, remark)
        return requests(request, connection)

    return answer


def _answering_error(remark: str) -> Handler:
    def answer(_request: RemotingCommand, _connection: ServerConnection) -> Response:
        return Response(ResponseCode.SYSTEM_ERROR, remark)

    return answer


def _notify_nobody(_event: MinBrokerIdChanged) -> None:
    """Ignore the event: today's brokers must not be notified of the past."""
