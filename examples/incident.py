"""Six brokers with slaves live through an incident with several causes; find them by commands.

    python examples/incident.py FOLDER

It takes less than a minute. The journals of two name servers stay in FOLDER, and the script prints what to
ask them. It needs no Java: the brokers are simulated, and register as real ones do.
"""

import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.cli.demo.incident import IN_A_HURRY
from namekeeper.cli.demo.servers import DemoServer
from namekeeper.errors import NamekeeperError, ResponseError
from namekeeper.fleet.churn import ChurnKind
from namekeeper.fleet.fleet import Fleet
from namekeeper.fleet.plan import (
    Action,
    AddWritePerm,
    Die,
    FleetPlan,
    FleetSettings,
    PlannedBroker,
    Start,
    WipeWritePerm,
)
from namekeeper.model.topic import TopicConfig
from namekeeper.remoting.client import RemotingClient

LIMIT_SECONDS = 240.0
"""Far away, for a busy machine."""
TOPICS = {
    "broker-a": "orders",
    "broker-b": "payments",
    "broker-c": "shipments",
    "broker-d": "refunds",
    "broker-e": "invoices",
    "broker-f": "mails",
}
"""Each broker name has a topic of its own."""
BROKERS = [
    PlannedBroker("shop", name, broker_id, f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}")
    for number, name in enumerate(TOPICS)
    for broker_id, port in ((0, 21_011 + 20 * number), (1, 21_021 + 20 * number))
]
ADDRESS = {(broker.broker_name, broker.broker_id): broker.broker_addr for broker in BROKERS}
HUMAN = ChurnKind.WIPES


class Incident:
    """The steps, in the order in which they happen."""

    def __init__(self, servers: list[DemoServer], namesrvs: list[Namesrv], fleet: Fleet) -> None:
        self.servers = servers
        self.namesrvs = namesrvs
        self.fleet = fleet
        self.at = ""
        """An instant at which every cause is there."""

    async def play(self) -> None:
        """Play the incident.

        Raises:
            NamekeeperError: a step failed.
        """
        for (name, _), addr in ADDRESS.items():
            await self.fleet.brokers[addr].create_topic(TopicConfig(TOPICS[name], 4, 4))
        await self.look_up(2)
        print("somebody wipes the write permission of broker-a")
        await self.do(WipeWritePerm(0, HUMAN, "broker-a"))
        await self.look_up(1)
        print("the master of broker-b is killed")
        await self.do(Die(0, ChurnKind.DEATHS, ADDRESS["broker-b", 0]))
        await self.look_up(1)
        print("broker-c is killed for good, with its slave")
        for broker_id in (0, 1):
            await self.do(Die(0, ChurnKind.DEATHS, ADDRESS["broker-c", broker_id]))
        await self.look_up(1)
        await self.delete()
        await self.look_up(2)
        self.at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        await self.look_up(1)
        await self.restart()
        await self.look_up(2)
        print("broker-a gets its permission back, and the master of broker-b returns")
        await self.do(AddWritePerm(0, HUMAN, "broker-a"))
        await self.do(Start(0, ChurnKind.DEATHS, ADDRESS["broker-b", 0]))
        await self.look_up(2)

    async def look_up(self, seconds: int) -> None:
        """A client looks up every topic each second."""
        for _ in range(seconds):
            for namesrv in self.namesrvs:
                for topic in TOPICS.values():
                    with suppress(ResponseError):  # that is what the incident is about
                        await operations.topic_route(namesrv, topic)
            await asyncio.sleep(1)

    async def do(self, action: Action) -> None:
        """Something happens to the fleet."""
        if (failure := await self.fleet.perform(action, at_once=True)) is not None:
            raise failure

    async def delete(self) -> None:
        """As mqadmin does: at the brokers first, or they would bring it back."""
        print("somebody deletes the topic refunds, and clients go on asking for it")
        for broker_id in (0, 1):
            await self.fleet.registrars[ADDRESS["broker-d", broker_id]].delete_topic_config("refunds")
        for namesrv in self.namesrvs:
            await operations.delete_topic(namesrv, "refunds")

    async def restart(self) -> None:
        """A name server is away for a moment, and the brokers that live register again."""
        print("ns-2 is restarted")
        await self.servers[1].stop()
        await self.servers[1].start()
        dead = {ADDRESS["broker-b", 0], ADDRESS["broker-c", 0], ADDRESS["broker-c", 1]}
        for addr in set(ADDRESS.values()) - dead:
            await self.fleet.registrars[addr].register_broker_all()


async def play(servers: list[DemoServer]) -> str:
    """Play the incident; return an instant in it."""
    async with AsyncExitStack() as stack:
        control = await stack.enter_async_context(RemotingClient())
        for server in servers:
            stack.enter_context(server)
            await server.start()
        namesrvs = [Namesrv(server.addr, control, timeout_ms=60_000) for server in servers]
        plan = FleetPlan(FleetSettings(namesrvs=len(servers)), tuple(BROKERS), {"shop": ()}, ())
        fleet = Fleet(plan, ";".join(server.addr for server in servers), template=IN_A_HURRY)
        await stack.enter_async_context(fleet)
        incident = Incident(servers, namesrvs, fleet)
        await incident.play()
        # The name servers stop first: brokers that unregister now would be another story.
        for server in servers:
            await server.stop()
        await fleet.abort()
        return incident.at


def main() -> int:
    """Run; return the exit status."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    home = Path(sys.argv[1])
    if home.exists() and any(home.iterdir()):
        print(f"{home} is not empty: name a folder that is not there yet", file=sys.stderr)
        return 2
    servers = [DemoServer(home, namesrv) for namesrv in ("ns-1", "ns-2")]
    try:
        at = asyncio.run(asyncio.wait_for(play(servers), LIMIT_SECONDS))
    except (NamekeeperError, TimeoutError) as error:
        print(f"the incident failed: {error!r}", file=sys.stderr)
        return 1
    journals = " ".join(f"--journal {server.journal}" for server in servers)
    warehouse = f"--warehouse {home / 'warehouse'}"
    print("\nNow somebody says that orders, payments, shipments and refunds failed. Ask:\n")
    for topic in ("orders", "payments", "shipments", "refunds"):
        print(f"    namekeeper why {topic} --at {at} {journals}")
        print(f"    namekeeper history {topic} {journals}")
    print(f"    namekeeper console {journals}")
    print(f"    namekeeper pipeline run {journals} {warehouse}")
    print(f"    namekeeper report incidents {warehouse}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
