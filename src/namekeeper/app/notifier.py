"""Sends NOTIFY_MIN_BROKER_ID_CHANGE (905), the only request that a name server sends (protocol.md 2.15)."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from namekeeper.common.networks import IpNetwork, parse_ip
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.messages.fields import encode_header
from namekeeper.messages.registration import NotifyMinBrokerIdChangeRequestHeader
from namekeeper.remoting.address import parse_address
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.route.events import MinBrokerIdChanged
from namekeeper.route.live import BrokerLiveTable
from namekeeper.wire.codes import RequestCode

if TYPE_CHECKING:
    from namekeeper.remoting.client import RemotingClient
    from namekeeper.remoting.tls_client import ClientTls

__all__ = ["CONNECTIONS_LIMIT", "Notifier", "notifying_client"]

log = logging.getLogger("namekeeper.namesrv")

SEND_TIMEOUT_MS = 1_000
"""Time limit for connecting and sending. A broker that misses 905 learns the change when it next asks for its
group."""

CONNECTIONS_LIMIT = 64
"""Connections of the pool, and notifications sent at once. Peers choose the addresses, and each connection
costs a descriptor: this is half of what the native fast path leaves for such uses."""

FRAME_BYTES = 16 * 1024
"""Longest frame that a notified peer may send: none is due, and peers choose the programs at their addresses.
"""

IDLE_SECONDS = 10.0
"""Role switches of a group come together; after that the connection is of no use."""

WAITING_LIMIT = 1_024
"""Notifications that are sent or wait for a connection: enough for role switches of a whole cluster. More are
dropped, and logged."""


class Notifier:
    """Notifies brokers of a group that its smallest id has changed.

    Args:
        make_client: makes the pool of connections for the first notification, because most servers never send
            one.
        live: the live brokers; no other address is notified.
        networks: networks of the brokers that may be notified. Empty: all.
    """

    def __init__(
        self,
        make_client: Callable[[], "RemotingClient"],
        live: Callable[[], BrokerLiveTable],
        networks: Sequence[IpNetwork] = (),
    ) -> None:
        self._make_client = make_client
        self._live = live
        self._networks = networks
        self._client: RemotingClient | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(CONNECTIONS_LIMIT)
        self._log_limit = LogLimit(log)

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
            if len(self._under_way) >= WAITING_LIMIT:
                self._warn("notify min broker id changed of %s: too many under way", event.broker_name)
                return
            task = asyncio.get_running_loop().create_task(self._send(event.broker_name, addr, fields))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """Cancel the notifications under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _send(self, broker_name: str, addr: str, fields: dict[str, str]) -> None:
        async with self._slots:
            if not self._is_live(broker_name, addr):  # it has left meanwhile
                return
            try:
                self._check_network(addr)
                if self._client is None:
                    self._client = self._make_client()
                await self._client.invoke_oneway(
                    addr, RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, fields, timeout_ms=SEND_TIMEOUT_MS
                )
            except NamekeeperError as error:
                self._warn("notify min broker id changed to %s failed: %s", addr, error)

    def _is_live(self, broker_name: str, addr: str) -> bool:
        return any(live.broker_addr == addr for live in self._live().of_name(broker_name))

    def _check_network(self, addr: str) -> None:
        """Raise ConfigError if the address is in none of the networks; a host name is in none."""
        if not self._networks:
            return
        try:
            address = parse_ip(parse_address(addr).host)
        except ValueError:
            raise ConfigError("notifyNetworks allows only IP addresses") from None
        if not any(address in network for network in self._networks):
            raise ConfigError("the address is in none of notifyNetworks")

    def _warn(self, message: str, *args: object) -> None:
        self._log_limit.log(logging.WARNING, message, *args)


def notifying_client(tls: "ClientTls | None") -> "RemotingClient":
    """Make the pool of connections to brokers."""
    from namekeeper.remoting.client import RemotingClient  # most servers never need it

    return RemotingClient(
        tls=tls,
        connect_timeout_ms=SEND_TIMEOUT_MS,
        max_frame_bytes=FRAME_BYTES,
        max_connections=CONNECTIONS_LIMIT,
        idle_seconds=IDLE_SECONDS,
    )
