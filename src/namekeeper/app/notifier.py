"""Sends NOTIFY_MIN_BROKER_ID_CHANGE (905), the only request that a name server sends (protocol.md 2.15)."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from namekeeper.errors import NamekeeperError
from namekeeper.messages.fields import encode_header
from namekeeper.messages.registration import NotifyMinBrokerIdChangeRequestHeader
from namekeeper.route.events import MinBrokerIdChanged
from namekeeper.wire.codes import RequestCode

if TYPE_CHECKING:
    from namekeeper.remoting.client import RemotingClient

__all__ = ["Notifier"]

log = logging.getLogger("namekeeper.namesrv")

SEND_TIMEOUT_MS = 300
"""Java's time limit; a broker that can't be reached learns it when it next asks for its group."""

MAX_UNDER_WAY = 1_024
"""Notifications sent at once: enough for role switches of a whole cluster; more are dropped, and logged."""


class Notifier:
    """Tells brokers of a group that its smallest id has changed."""

    def __init__(self, make_client: Callable[[], "RemotingClient"]) -> None:
        """Prepare; the client is made for the first notification, because most servers never send one."""
        self._make_client = make_client
        self._client: RemotingClient | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    def __call__(self, event: MinBrokerIdChanged) -> None:
        """Send to every recipient, without waiting."""
        fields = encode_header(
            NotifyMinBrokerIdChangeRequestHeader(
                min_broker_id=event.min_broker_id,
                min_broker_addr=event.min_broker_addr,
                offline_broker_addr=event.offline_broker_addr,
                ha_broker_addr=event.ha_broker_addr,
            )
        )
        for addr in event.recipients:
            if len(self._under_way) >= MAX_UNDER_WAY:
                log.warning("notify min broker id changed of %s: too many under way", event.broker_name)
                return
            task = asyncio.get_running_loop().create_task(self._send(addr, fields))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """Cancel the notifications under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _send(self, addr: str, fields: dict[str, str]) -> None:
        try:
            if self._client is None:
                self._client = self._make_client()
            await self._client.invoke_oneway(
                addr, RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, fields, timeout_ms=SEND_TIMEOUT_MS
            )
        except NamekeeperError as error:
            log.warning("notify min broker id changed to %s failed: %s", addr, error)
