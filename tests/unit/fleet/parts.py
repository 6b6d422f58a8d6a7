"""A small fleet with name servers of our own in the same loop."""

import contextlib

from namekeeper.fleet.fleet import Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import FleetSettings
from tests.unit.app.parts import name_server
from tests.unit.broker.parts import FakeTime

__all__ = ["Scene", "scene"]

SMALL = {"brokers": 2, "clusters": 1, "topics": 2, "slaves": 1, "namesrvs": 2}


class Scene:
    """Two name servers, a fleet that isn't entered yet, and its time."""

    def __init__(self, servers, plan, on_action):
        self.servers = servers
        self.addrs = [f"127.0.0.1:{server.port}" for server in servers]
        self.time = FakeTime()
        self.plan = plan
        self.seen = []
        self.fleet = Fleet(
            plan,
            ";".join(self.addrs),
            on_action=on_action or self._see,
            clock=self.time,
            sleep=self.time.sleep,
        )

    def _see(self, action, failure):
        self.seen.append((action, failure))

    def topics(self, number=0):
        return set(self.servers[number].state.tables.topics())

    def addresses(self, number=0):
        """Broker name -> id -> address, as a name server has it."""
        table = self.servers[number].state.tables.broker_addr_table
        return {name: dict(table[name].broker_addrs) for name in table}

    def perms(self, name, number=0):
        return {row.effective.perm for row in self.servers[number].state.tables.topics_of(name).values()}


@contextlib.asynccontextmanager
async def scene(tmp_path, *, on_action=None, **settings):
    plan = make_plan(FleetSettings(**{**SMALL, **settings}))
    async with contextlib.AsyncExitStack() as opened:
        servers = []
        for number in range(plan.settings.namesrvs):
            folder = tmp_path / str(number)
            folder.mkdir()
            servers.append(await opened.enter_async_context(name_server(folder)))
        yield Scene(servers, plan, on_action)
