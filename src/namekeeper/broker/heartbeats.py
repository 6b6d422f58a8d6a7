"""Heartbeats of a broker in acting-master mode: one each second (protocol.md 6.7)."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from namekeeper.broker.broker_client import BrokerClient, send_oneway
from namekeeper.broker.fixed_rate import FixedRate
from namekeeper.broker.payload import broker_heartbeat_request
from namekeeper.broker.registration import BrokerState
from namekeeper.errors import RemotingError
from namekeeper.messages.registration import BrokerHeartbeatRequestHeader
from namekeeper.wire.command import RemotingCommand

__all__ = ["Heartbeats"]


class Heartbeats:
    """Sends heartbeats. A name server that fails to take one does not delay the others, and gets the next."""

    def __init__(
        self,
        client: BrokerClient,
        namesrv_addrs: Callable[[], Sequence[str]],
        state: Callable[[], BrokerState],
    ) -> None:
        """Take the client, and the functions that are called before each heartbeat.

        Args:
            client: sends them.
            namesrv_addrs: returns the present name servers.
            state: returns the present state of the broker.
        """
        self._client = client
        self._namesrv_addrs = namesrv_addrs
        self._state = state
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def run(self, rate: FixedRate) -> None:
        """Send at this rate until cancelled."""
        try:
            while True:
                await rate.next()
                self.beat()
        finally:
            for task in self._under_way.values():
                task.cancel()
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def beat(self) -> None:
        """Send a heartbeat to each name server, except to those whose last one is still being sent."""
        request = _heartbeat(self._state())
        for addr in self._namesrv_addrs():
            if addr not in self._under_way:
                task = asyncio.create_task(self._send(addr, request), name=f"heartbeat to {addr}")
                self._under_way[addr] = task
                task.add_done_callback(partial(self._ended, addr))

    def _ended(self, addr: str, _task: asyncio.Task[None]) -> None:
        self._under_way.pop(addr, None)

    async def _send(self, addr: str, request: RemotingCommand) -> None:
        try:
            await send_oneway(self._client, addr, request, self._state().settings.send_heartbeat_timeout_ms)
        except RemotingError:
            return  # the next registration reports the failure


def _heartbeat(state: BrokerState) -> RemotingCommand:
    settings = state.settings
    if settings.compatible_with_old_name_srv:
        return state.query(state.data_version, oneway=True)
    return broker_heartbeat_request(
        BrokerHeartbeatRequestHeader(settings.cluster_name, settings.broker_addr, settings.broker_name)
    )
