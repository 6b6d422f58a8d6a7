"""One broker of a fleet: settings and topics, which survive a restart, and a registrar while it runs."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import structs

from namekeeper.broker.namesrv_session import RegisterBrokerResult
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.fleet.connections import BrokerConnections, RegistrationLimits
from namekeeper.model.topic import TopicConfig

__all__ = ["SimulatedBroker"]


class SimulatedBroker:
    """A broker that can be started and stopped. Callers hold `turn` so that actions run one at a time."""

    def __init__(
        self,
        settings: BrokerSettings,
        topics: TopicConfigManager,
        namesrv_addrs: Sequence[str],
        limits: RegistrationLimits,
        on_result: Callable[[RegisterBrokerResult], object],
    ) -> None:
        self.settings = settings
        self.topics = topics
        self.registrar: BrokerRegistrar | None = None
        """The registrar while it runs, else None."""
        self.is_hanging = False
        self.turn = asyncio.Lock()
        """Held while an action runs on this broker."""
        self._namesrv_addrs = namesrv_addrs
        self._limits = limits
        self._on_result = on_result
        self._connections: BrokerConnections | None = None

    async def start(self) -> None:
        """Register with the last topics and role; a hanging registrar is ended first."""
        if self.is_hanging:
            await self.die()
        if self.registrar is not None:
            return
        self._connections = BrokerConnections(self.settings, self._namesrv_addrs, self._limits)
        self.registrar = BrokerRegistrar(
            self.settings, self.topics, client=self._connections, on_result=self._on_result
        )
        await self.registrar.__aenter__()

    async def stop(self) -> None:
        """Unregister from every name server, as a clean stop does."""
        self.is_hanging = False
        registrar, self.registrar = self.registrar, None
        if registrar is not None:
            await registrar.close()

    async def die(self) -> None:
        """Close the connections without unregistering."""
        registrar, self.registrar = self.registrar, None
        self.is_hanging = False
        if registrar is not None:
            await registrar.abort()

    async def hang(self) -> None:
        """Stay connected and send nothing until `start`."""
        if self.registrar is not None:
            self.is_hanging = True
            await self.registrar.hang()

    async def create_topic(self, topic: TopicConfig) -> None:
        """Add a topic; a broker that does not run registers it at its next start."""
        if self.registrar is None:
            await self.topics.update_topic_config(topic)
        else:
            await self.registrar.update_topic_config(topic)

    async def change_role(self, broker_id: int, state_version: int) -> None:
        """Become master (0) or a slave."""
        self.settings = structs.replace(self.settings, broker_id=broker_id)
        if self.registrar is None:
            await self.topics.next_version(state_version=state_version)
        else:
            await self.registrar.change_role(broker_id, state_version=state_version)

    async def cut_from(self, namesrv_addr: str) -> None:
        """Close the connection to a name server and refuse new ones, until `heal`."""
        if self._connections is not None and self.registrar is not None:
            await self._connections.cut(namesrv_addr)

    async def heal(self, namesrv_addr: str, *, at_once: bool) -> None:
        """Allow connections again; register at once, or with the next period."""
        if self._connections is not None and self.registrar is not None:
            self._connections.heal(namesrv_addr)
            if at_once:
                await self.registrar.register_broker_all()
