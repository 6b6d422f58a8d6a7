"""Keeps one broker registered with every name server while it runs (protocol.md 6).

Each registrar has a client of its own: name servers remove a broker when its connection closes (trap T23).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Self

from msgspec import structs

from namekeeper.broker.broker_client import BrokerClient, make_broker_client, send_oneway
from namekeeper.broker.fixed_rate import FixedRate, Sleep
from namekeeper.broker.namesrv_session import RegisterBrokerResult
from namekeeper.broker.namesrv_sessions import NamesrvSessions, Started, split_addresses
from namekeeper.broker.payload import broker_heartbeat_request
from namekeeper.broker.registration import BrokerState, Registration
from namekeeper.broker.settings import MIN_PERIOD_MS, BrokerSettings
from namekeeper.broker.system_topics import system_topics
from namekeeper.broker.tasks import Tasks
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.broker.topic_config_table import given_topics
from namekeeper.clock import Clock, SystemClock
from namekeeper.common.spelled_names import SpelledNames
from namekeeper.errors import ConfigError, RemotingError
from namekeeper.messages.registration import BrokerHeartbeatRequestHeader
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.topic import TopicConfig
from namekeeper.nsaddr import AddressServer
from namekeeper.wire.command import RemotingCommand

__all__ = ["BrokerRegistrar", "Heartbeats"]

_log = logging.getLogger("namekeeper.broker")


class Heartbeats:
    """Sends a heartbeat each second in acting-master mode (protocol.md 6.7).

    A name server that fails to take a heartbeat does not delay the others, and gets the next one.
    """

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


class BrokerRegistrar(SpelledNames, settings=BrokerSettings):
    """One broker's registrations; an async context manager: registered inside, unregistered after.

    The results contain name servers that can't be reached, too; each is tried again in the next period.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        topics: TopicConfigManager | Iterable[TopicConfig] = (),
        *,
        client: BrokerClient | None = None,
        on_result: Callable[[RegisterBrokerResult], object] | None = None,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Connect nothing yet.

        Args:
            settings: the broker, and where its name servers are.
            topics: of the broker; a manager from `TopicConfigManager.open` keeps them on disk.
            client: from `make_broker_client`, for this broker alone; closed with the registrar.
            on_result: gets each result as it comes; must not block.
            clock: counts the periods, and stamps data versions unless `topics` is a manager.
            sleep: waits between registrations.

        Raises:
            ConfigError: no address, or one that can't be used; topics that are text, or one given twice.
            TopicNameError: a topic whose name can't be sent.
        """
        self._settings = settings
        self._clock = clock or SystemClock()
        self._sleep = sleep
        if not isinstance(topics, TopicConfigManager):
            topics = TopicConfigManager(given_topics(topics), clock=self._clock)
        self.topics = topics
        """The topics; change them through this registrar, so that name servers are informed."""
        self.master_addr: str | None = None
        """A slave's master: its address, by the last registration; None while there is none."""
        self.ha_server_addr: str | None = None
        """The last known address at which that master lets the slave replicate."""
        addrs = split_addresses(settings.namesrv_addr)
        if not addrs and not settings.address_server:
            raise ConfigError("no name server: set namesrv_addr to host:port;host:port, or address_server")
        self._client: BrokerClient = client or make_broker_client(settings)
        self._registrations, self._keeping = Tasks(), Tasks()
        self._sessions = NamesrvSessions(self._client, self._registrations, on_result)
        self._sessions.replace(addrs)
        self._changing = asyncio.Lock()
        self._is_registered = False
        self._is_closed = False

    async def __aenter__(self) -> Self:
        """Register, and keep registering; return when each name server has answered or timed out.

        Raises:
            ConfigError: there is only an address server, and it gives no list; the registrar was closed; or
                system topics could not be stored.
        """
        if self._is_closed:
            raise ConfigError("this registrar was closed: make a new one")
        try:
            if self._settings.address_server:
                await self._ask_address_server(self._settings.address_server)
            if self._settings.register_system_topics:
                await self.topics.add_missing(system_topics(self._settings))
            await self.register_broker_all()
        except BaseException:
            await self.abort()
            raise
        self._is_registered = True
        self._keeping.start(self._register_again_and_again())
        if self._settings.enable_slave_acting_master:
            self._keeping.start(self._send_heartbeats())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def settings(self) -> BrokerSettings:
        """The broker as it is now: its id and permission may have changed."""
        return self._settings

    @property
    def namesrv_addrs(self) -> list[str]:
        """The present name servers."""
        return self._sessions.namesrv_addrs

    @property
    def last_results(self) -> Mapping[str, RegisterBrokerResult]:
        """Name server -> result of the last registration there, if there was one."""
        return self._sessions.last_results()

    # Registering.

    async def register_broker_all(
        self, *, check_order_config: bool = True, oneway: bool = False, force: bool = True
    ) -> list[RegisterBrokerResult]:
        """Register all topics with every name server at once, with the same bytes.

        Args:
            check_order_config: mark topics as ordered if a name server's answer says so.
            oneway: ask for no answers.
            force: register everywhere, not only where the name server's data version differs.

        Returns:
            A result for each name server, in the order of their addresses; none is raised. Complete after
            `register_broker_timeout_ms` at the latest.
        """
        started = self._sessions.start(Registration(self._state(), force=force, oneway=oneway))
        return await self._finish(started, check_order_config=check_order_config)

    async def need_register(self) -> dict[str, bool | RemotingError]:
        """Ask every name server whether it lacks this version of the broker."""
        return await self._sessions.needs(self._state())

    async def update_topic_config(self, *configs: TopicConfig) -> list[RegisterBrokerResult]:
        """Add or change topics and tell every name server at once; sends only these where that is enough.

        Raises:
            TopicNameError: a name that RocketMQ forbids; nothing has changed.
            ConfigError: the change could not be stored; nothing has changed.
        """
        async with self._changing:
            before = self.topics.data_version
            await self.topics.update_topic_config(*configs)
            started = self._sessions.start(Registration(self._state(), changed=configs, before=before))
        return await self._finish(started, check_order_config=True)

    async def delete_topic_config(self, topic: str) -> bool:
        """Remove a topic here only, as in Java: name servers keep it until they are asked to delete it.

        Returns:
            Whether there was one.

        Raises:
            ConfigError: the change could not be stored; nothing has changed.
        """
        async with self._changing:
            return await self.topics.delete_topic_config(topic)

    async def change_broker_permission(self, broker_permission: int) -> list[RegisterBrokerResult]:
        """Allow or forbid reading and writing for the whole broker, and tell every name server.

        Raises:
            ConfigError: the new version could not be stored; nothing has changed.
        """
        async with self._changing:
            await self.topics.next_version()
            self._settings = structs.replace(self._settings, broker_permission=broker_permission)
            started = self._sessions.start(Registration(self._state()))
        return await self._finish(started, check_order_config=False)

    async def change_role(
        self, broker_id: int, *, state_version: int | None = None
    ) -> list[RegisterBrokerResult]:
        """Become master (0) or a slave, and tell every name server.

        Args:
            broker_id: from now on.
            state_version: see `TopicConfigManager.next_version`.

        Raises:
            ConfigError: an id below 0, or the new version could not be stored; nothing has changed.
        """
        settings = structs.replace(self._settings, broker_id=broker_id)
        async with self._changing:
            if state_version is not None:
                await self.topics.next_version(state_version=state_version)
            self._settings = settings
            started = self._sessions.start(Registration(self._state()))
        return await self._finish(started, check_order_config=True)

    async def update_name_server_address_list(self, namesrv_addr: str) -> None:
        """Register with new name servers at once, unregister from those that are gone from the list.

        Raises:
            ConfigError: the list is empty, or has an address that can't be used; nothing has changed.
        """
        addrs = split_addresses(namesrv_addr)
        if not addrs:
            raise ConfigError("the new list of name servers is empty: give host:port;host:port")
        added, gone = self._sessions.replace(addrs)
        await self._finish(self._sessions.start(Registration(self._state()), added), check_order_config=True)
        await self._sessions.unregister(self._state(), gone)
        for session in gone:
            self._client.release(session.namesrv_addr)

    # Ending.

    async def close(self) -> dict[str, RemotingError | None]:
        """Unregister from one name server after the other, as Java does; may be called twice.

        Returns:
            Name server -> the error, or None. Each has `unregister_broker_timeout_ms`.
        """
        if self._is_closed:
            return {}
        self._is_closed = True
        try:
            await self._keeping.cancel()
            # Registrations under way end before the unregistration is sent.
            await self._registrations.wait(timeout_ms=self._settings.unregister_broker_timeout_ms)
            await self._registrations.cancel()
            return await self._sessions.unregister(self._state())
        finally:
            await self._client.close()

    async def hang(self) -> None:
        """Stop sending but keep the connections open, as a process that hangs does."""
        await self._keeping.cancel()
        await self._registrations.cancel()

    async def abort(self) -> None:
        """Close the connections without unregistering, as a crash does."""
        self._is_closed = True
        await self.hang()
        await self._client.close()

    # Parts of a registration.

    def _state(self) -> BrokerState:
        return BrokerState(self._settings, self.topics.table, self.topics.data_version)

    async def _finish(self, started: Started, *, check_order_config: bool) -> list[RegisterBrokerResult]:
        async def use(result: RegisterBrokerResult) -> None:
            if self._settings.broker_id != MASTER_ID:
                self.master_addr = result.master_addr
                self.ha_server_addr = result.ha_server_addr or self.ha_server_addr
            if check_order_config and result.order_topic_config is not None:
                await self._mark_ordered(result.order_topic_config)

        return await self._sessions.finish(started, use)

    async def _mark_ordered(self, order_topic_config: Mapping[str, str]) -> None:
        """Only brokers read the mark, so name servers get the new version with the next registration."""
        try:
            await self.topics.update_order_topic_config(order_topic_config, is_five=self._settings.is_five)
        except ConfigError as error:
            _log.warning("the marks of ordered topics could not be stored: %s", error)

    async def _register_again_and_again(self) -> None:
        rate = self._rate(self._settings.period_ms, first_ms=MIN_PERIOD_MS)
        while True:
            await rate.next()
            # Not awaited: one late answer must not delay the next registration at other name servers.
            self._registrations.start(self.register_broker_all(force=self._settings.force_register))

    async def _send_heartbeats(self) -> None:
        interval_ms = self._settings.broker_heartbeat_interval_ms
        heartbeats = Heartbeats(self._client, lambda: self.namesrv_addrs, self._state)
        await heartbeats.run(self._rate(interval_ms, first_ms=interval_ms))

    def _rate(self, period_ms: int, *, first_ms: int) -> FixedRate:
        return FixedRate(period_ms, first_ms=first_ms, clock=self._clock, sleep=self._sleep)

    async def _ask_address_server(self, url: str) -> None:
        """Ask for the first list, and go on asking; without an answer the configured list is used."""
        address_server = AddressServer(url, self._listed, sleep=self._sleep)
        await address_server.ask()
        if address_server.failure is not None and not self.namesrv_addrs:
            raise address_server.failure
        self._keeping.start(address_server.keep_asking())

    def _listed(self, namesrv_addrs: list[str]) -> None:
        if not self._is_registered:
            self._sessions.replace(namesrv_addrs)
        elif set(namesrv_addrs) != set(self.namesrv_addrs):
            _log.info("the address server lists other name servers now: %s", ";".join(namesrv_addrs))
            self._registrations.start(self.update_name_server_address_list(";".join(namesrv_addrs)))
