"""Performs the actions of a plan."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.errors import ConfigError
from namekeeper.fleet.plan import (
    Action,
    AddWritePerm,
    CreateTopic,
    Die,
    Hang,
    Heal,
    Partition,
    Start,
    Stop,
    SwitchRole,
    WipeWritePerm,
)
from namekeeper.fleet.simulated_broker import SimulatedBroker
from namekeeper.model.broker import MASTER_ID
from namekeeper.remoting.client import RemotingClient

__all__ = ["FleetActions"]


class FleetActions:
    """Performs actions with the brokers of a fleet."""

    def __init__(
        self, brokers: Mapping[str, SimulatedBroker], namesrv_addrs: Sequence[str], control: RemotingClient
    ) -> None:
        """Take the fleet.

        Args:
            brokers: broker address -> broker.
            namesrv_addrs: in the order of the plan.
            control: sends the requests of administrators.
        """
        self._brokers = brokers
        self._namesrv_addrs = namesrv_addrs
        self._namesrvs = [Namesrv(addr, control) for addr in namesrv_addrs]
        self._do: dict[type[Action], Callable[..., Awaitable[None]]] = {
            CreateTopic: self._create_topic,
            Start: lambda action, _: self._with(action.broker_addr, SimulatedBroker.start),
            Stop: lambda action, _: self._with(action.broker_addr, SimulatedBroker.stop),
            Die: lambda action, _: self._with(action.broker_addr, SimulatedBroker.die),
            Hang: lambda action, _: self._with(action.broker_addr, SimulatedBroker.hang),
            SwitchRole: self._switch_role,
            WipeWritePerm: lambda action, _: self._ask_all(operations.wipe_write_perm, action.broker_name),
            AddWritePerm: lambda action, _: self._ask_all(operations.add_write_perm, action.broker_name),
            Partition: self._partition,
            Heal: self._heal,
        }

    async def do(self, action: Action, *, at_once: bool) -> None:
        """Perform an action; NamekeeperError if a name server refuses it or the plan has no such broker."""
        await self._do[type(action)](action, at_once)

    async def _with(self, broker_addr: str, do: Callable[[SimulatedBroker], Awaitable[Any]]) -> None:
        broker = self._broker(broker_addr)
        async with broker.turn:
            await do(broker)

    async def _create_topic(self, action: CreateTopic, _: bool) -> None:  # noqa: FBT001 - as the others
        brokers = [
            broker for broker in self._brokers.values() if broker.settings.cluster_name == action.cluster_name
        ]
        await asyncio.gather(
            *(
                self._with(broker.settings.broker_addr, lambda broker: broker.create_topic(action.topic))
                for broker in brokers
            )
        )

    async def _switch_role(self, action: SwitchRole, _: bool) -> None:  # noqa: FBT001 - as the others
        """The new master first, as a controller does it."""
        slave_id = self._broker(action.slave_addr).settings.broker_id

        def become(broker_id: int) -> Callable[[SimulatedBroker], Awaitable[None]]:
            return lambda broker: broker.change_role(broker_id, action.state_version)

        await self._with(action.slave_addr, become(MASTER_ID))
        await self._with(action.master_addr, become(slave_id))

    async def _partition(self, action: Partition, _: bool) -> None:  # noqa: FBT001 - as the others
        addr = self._namesrv_addrs[action.namesrv]
        await self._with(action.broker_addr, lambda broker: broker.cut_from(addr))

    async def _heal(self, action: Heal, at_once: bool) -> None:  # noqa: FBT001 - as the others
        addr = self._namesrv_addrs[action.namesrv]
        await self._with(action.broker_addr, lambda broker: broker.heal(addr, at_once=at_once))

    async def _ask_all(self, ask: Callable[[Namesrv, str], Awaitable[int]], broker_name: str) -> None:
        """Ask every name server; the first failure is raised when all have answered."""
        answers = await asyncio.gather(
            *(ask(namesrv, broker_name) for namesrv in self._namesrvs), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    def _broker(self, broker_addr: str) -> SimulatedBroker:
        try:
            return self._brokers[broker_addr]
        except KeyError:
            raise ConfigError(f"the plan has no broker {broker_addr}") from None
