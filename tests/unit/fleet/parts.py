"""A small fleet with name servers of our own in the same loop."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec import structs

from namekeeper.app.name_server import NameServer
from namekeeper.broker.broker_client import make_broker_client
from namekeeper.broker.settings import BrokerSettings
from namekeeper.errors import NamekeeperError
from namekeeper.fleet.fleet import TEMPLATE, Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import Action, FleetPlan, FleetSettings
from namekeeper.remoting.client import RemotingClient
from tests.support.system.waiting import PATIENCE
from tests.unit.app.parts import name_server
from tests.unit.broker.parts import FakeTime

__all__ = ["Scene", "scene"]

OnAction = Callable[[Action, NamekeeperError | None], object]

PATIENCE_MS = int(10_000 * PATIENCE)
"""A time limit for connecting, and for leaving, that no busy machine reaches: Java's is 3 s."""
SMALL = {"brokers": 2, "clusters": 1, "topics": 2, "slaves": 1, "namesrvs": 2}


class Scene:
    """Two name servers, a fleet that isn't entered yet, and its time."""

    def __init__(self, servers: Sequence[NameServer], plan: FleetPlan, on_action: OnAction | None) -> None:
        self.servers = servers
        self.addrs = [f"127.0.0.1:{server.port}" for server in servers]
        self.time = FakeTime()
        self.plan = plan
        self.seen: list[tuple[Action, NamekeeperError | None]] = []
        self.fleet = Fleet(
            plan,
            ";".join(self.addrs),
            on_action=on_action or self._see,
            template=structs.replace(TEMPLATE, unregister_broker_timeout_ms=PATIENCE_MS),
            clock=self.time,
            sleep=self.time.sleep,
        )

    def _see(self, action: Action, failure: NamekeeperError | None) -> None:
        self.seen.append((action, failure))

    def topics(self, number: int = 0) -> set[str]:
        return set(self.servers[number].state.tables.topics())

    def addresses(self, number: int = 0) -> dict[str, dict[int, str]]:
        """Broker name -> id -> address, as a name server has it."""
        table = self.servers[number].state.tables.broker_addr_table
        return {name: dict(table[name].broker_addrs) for name in table}

    def perms(self, name: str, number: int = 0) -> set[int]:
        return {row.effective.perm for row in self.servers[number].state.tables.topics_of(name).values()}


@contextlib.asynccontextmanager
async def scene(
    tmp_path: Path, *, on_action: OnAction | None = None, **settings: Any
) -> AsyncIterator[Scene]:
    plan = make_plan(FleetSettings(**{**SMALL, **settings}))
    patient = mock.patch("namekeeper.fleet.connections.make_broker_client", _patient_client)
    async with contextlib.AsyncExitStack() as opened:
        opened.enter_context(patient)
        servers = []
        for number in range(plan.settings.namesrvs):
            folder = tmp_path / str(number)
            folder.mkdir()
            servers.append(await opened.enter_async_context(name_server(folder)))
        yield Scene(servers, plan, on_action)


def _patient_client(settings: BrokerSettings) -> RemotingClient:
    client = make_broker_client(settings)
    client._connect_timeout_ms = PATIENCE_MS
    return client
