"""The connections of one broker of a fleet, each of which can be cut by itself."""

import asyncio
from collections.abc import Mapping, Sequence

from namekeeper.broker.broker_client import make_broker_client
from namekeeper.broker.settings import BrokerSettings
from namekeeper.errors import RemotingConnectError, RemotingTimeoutError
from namekeeper.remoting.client import RemotingClient
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["BrokerConnections", "RegistrationLimits"]

REGISTRATIONS_AT_ONCE = 8
"""Registrations of the whole fleet under way at one name server: each may have megabytes."""

RegistrationLimits = Mapping[str, asyncio.Semaphore]
"""Name server -> limit of registrations under way."""


class BrokerConnections:
    """Sends the requests of one broker; has a client for each name server. A `BrokerClient`."""

    def __init__(
        self, settings: BrokerSettings, namesrv_addrs: Sequence[str], limits: RegistrationLimits
    ) -> None:
        self._settings = settings
        self._limits = limits
        self._clients = {addr: make_broker_client(settings) for addr in namesrv_addrs}
        self._cut: set[str] = set()

    async def invoke(
        self,
        addr: str,
        code: int,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = 3_000,
    ) -> RemotingCommand:
        """As RemotingClient; a registration waits while too many of the fleet are under way."""
        client = self._client(addr)
        if code != RequestCode.REGISTER_BROKER:
            return await client.invoke(addr, code, ext_fields, body, timeout_ms=timeout_ms)
        try:
            async with asyncio.timeout(timeout_ms / 1000), self._limits[addr]:
                return await client.invoke(addr, code, ext_fields, body, timeout_ms=timeout_ms)
        except TimeoutError:
            raise RemotingTimeoutError(
                addr,
                f"{REGISTRATIONS_AT_ONCE} registrations of the fleet went unanswered for {timeout_ms} ms",
            ) from None

    async def invoke_oneway(
        self,
        addr: str,
        code: int,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = 3_000,
    ) -> None:
        """As RemotingClient."""
        await self._client(addr).invoke_oneway(addr, code, ext_fields, body, timeout_ms=timeout_ms)

    def release(self, addr: str) -> None:
        """As RemotingClient."""
        self._clients[addr].release(addr)

    async def cut(self, addr: str) -> None:
        """Close the connection to a name server and refuse new ones, until `heal`."""
        self._cut.add(addr)
        await self._clients[addr].close()

    def heal(self, addr: str) -> None:
        """Allow connections to it again."""
        if addr in self._cut:
            self._cut.discard(addr)
            self._clients[addr] = make_broker_client(self._settings)

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    def _client(self, addr: str) -> RemotingClient:
        if addr in self._cut:
            raise RemotingConnectError(addr, "cut off by the plan of the fleet")
        return self._clients[addr]
