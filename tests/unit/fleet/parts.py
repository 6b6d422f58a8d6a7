"""A small fleet with name servers of our own in the same loop."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from namekeeper.app.name_server import NameServer
from namekeeper.errors import NamekeeperError
from namekeeper.fleet.fleet import Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import Action, FleetPlan, FleetSettings
from tests.unit.app.parts import name_server
from tests.unit.broker.parts import FakeTime

__all__ = ["Scene", "scene"]

OnAction = Callable[[Action, NamekeeperError | None], object]

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
    async with contextlib.AsyncExitStack() as opened:
        servers = []
        for number in range(plan.settings.namesrvs):
            folder = tmp_path / str(number)
            folder.mkdir()
            servers.append(await opened.enter_async_context(name_server(folder)))
        yield Scene(servers, plan, on_action)
