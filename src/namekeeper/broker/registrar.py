"""Registers one broker with every name server in parallel, and unregisters it (protocol.md 6.4, 6.6).

The connection that carries the registrations must stay open for as long as the broker lives: when it closes,
the name server removes the broker (trap T23).
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from namekeeper.broker.payload import register_broker_request, unregister_broker_request
from namekeeper.errors import RemotingError, ResponseError
from namekeeper.messages.bodies import decode_kv_table
from namekeeper.messages.fields import decode_header
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.messages.registration import RegisterBrokerResponseHeader, UnRegisterBrokerRequestHeader
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.remoting.client import RemotingClient
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["BrokerRegistrar", "RegisterBrokerResult"]

REGISTER_BROKER_TIMEOUT_MS = 24_000
UNREGISTER_BROKER_TIMEOUT_MS = 3_000


class RegisterBrokerResult(Struct, frozen=True):
    """What one name server said."""

    namesrv_addr: str
    master_addr: str | None = None
    """For a slave: its master, if that is live."""
    ha_server_addr: str | None = None
    order_topic_config: dict[str, str] | None = None
    """Topic -> order configuration; None when the name server sent no table."""
    error: RemotingError | None = None
    """Why there is no answer; the other members are empty then."""


class BrokerRegistrar:
    """One broker's registrations; the client must be used for nothing else that may be closed before it."""

    def __init__(
        self, client: RemotingClient, namesrv_addrs: Sequence[str], header: RegisterBrokerHeader
    ) -> None:
        self._client = client
        self._namesrv_addrs = tuple(namesrv_addrs)
        self._header = header

    async def register_broker_all(
        self,
        body: RegisterBrokerBody,
        *,
        compressed: bool = False,
        timeout_ms: int = REGISTER_BROKER_TIMEOUT_MS,
    ) -> list[RegisterBrokerResult]:
        """Register with every name server at once, with the same bytes; a dead one delays nobody.

        Returns:
            A result for each name server, in the order of their addresses; none is raised.
        """
        request = register_broker_request(self._header, body, compressed=compressed)
        return await asyncio.gather(
            *(self._register(namesrv_addr, request, timeout_ms) for namesrv_addr in self._namesrv_addrs)
        )

    async def unregister_broker_all(
        self, *, timeout_ms: int = UNREGISTER_BROKER_TIMEOUT_MS
    ) -> dict[str, RemotingError | None]:
        """Unregister from every name server, one after the other as Java does; failures are returned."""
        header = self._header
        request = unregister_broker_request(
            UnRegisterBrokerRequestHeader(
                header.broker_name, header.broker_addr, header.cluster_name, header.broker_id
            )
        )
        results: dict[str, RemotingError | None] = {}
        for namesrv_addr in self._namesrv_addrs:
            try:
                await self._ask(namesrv_addr, request, timeout_ms)
                results[namesrv_addr] = None
            except RemotingError as error:
                results[namesrv_addr] = error
        return results

    async def _register(
        self, namesrv_addr: str, request: RemotingCommand, timeout_ms: int
    ) -> RegisterBrokerResult:
        try:
            answer = await self._ask(namesrv_addr, request, timeout_ms)
        except RemotingError as error:
            return RegisterBrokerResult(namesrv_addr, error=error)
        fields = decode_header(RegisterBrokerResponseHeader, answer.ext_fields)
        return RegisterBrokerResult(
            namesrv_addr,
            master_addr=fields.master_addr,
            ha_server_addr=fields.ha_server_addr,
            order_topic_config=decode_kv_table(answer.body) if answer.body else None,
        )

    async def _ask(self, namesrv_addr: str, request: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        answer = await self._client.invoke(
            namesrv_addr, request.code, request.ext_fields, request.body, timeout_ms=timeout_ms
        )
        if answer.code != ResponseCode.SUCCESS:
            raise ResponseError(namesrv_addr, answer.code, answer.remark)
        return answer
