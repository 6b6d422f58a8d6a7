"""`namekeeper demo`: two name servers and a small fleet of brokers, and what the routes do."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import click
from msgspec import structs
from rich.console import Console
from rich.table import Table

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.errors import NamekeeperError, ResponseError
from namekeeper.fleet.churn import Kind
from namekeeper.fleet.fleet import STAND_IN, Fleet
from namekeeper.fleet.plan import Die, FleetPlan, FleetSettings, Hang, PlannedBroker, Stop
from namekeeper.model.perm import format_perm
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import TopicConfig
from namekeeper.remoting.client import RemotingClient

__all__ = ["demo"]

BOOT = "The Name Server boot success."
TOPICS = ("orders", "payments", "shipments")
FLEET = {
    (name, broker_id): PlannedBroker("demo", name, broker_id, f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}")
    for name, broker_id, port in (
        ("broker-a", 0, 20_911),
        ("broker-a", 1, 20_921),
        ("broker-b", 0, 20_931),
        ("broker-b", 1, 20_941),
    )
}
"""Broker name and id: two masters, each with a slave. Nothing listens there: a name server never connects to
a broker's address to register it."""
IN_A_HURRY = structs.replace(
    STAND_IN,
    enable_slave_acting_master=True,
    broker_heartbeat_interval_ms=500,
    broker_not_active_timeout_ms=2_000,
)
"""So that a broker that falls silent is expired while one watches."""
PATIENCE_S = 20.0
LOOK_S = 0.1


@click.command()
def demo() -> None:
    """Two name servers and a small fleet of brokers to look at; everything on free loopback ports."""
    console = Console(highlight=False)
    try:
        with tempfile.TemporaryDirectory(prefix="namekeeper-demo-") as home:
            asyncio.run(_Demo(console, Path(home)).run())
    except NamekeeperError as error:
        console.print(f"[red]the demo failed:[/] {error}")
        sys.exit(1)


class _Demo:
    """The story, a step at a time."""

    def __init__(self, console: Console, home: Path) -> None:
        self._console = console
        self._home = home
        self._stack = AsyncExitStack()
        self._namesrvs: list[Namesrv] = []
        self._fleet: Fleet
        """From the step on in which it starts."""

    async def run(self) -> None:
        async with self._stack:
            await self._start_name_servers()
            await self._start_brokers()
            await self._stop_slave()
            await self._kill_master()
            await self._silence_master()
            await self._ask_for_unknown_topic()
        self._step("Everything is stopped")

    async def _start_name_servers(self) -> None:
        self._step("Two name servers start; they know nothing of each other")
        client = await self._stack.enter_async_context(RemotingClient())
        for number in (1, 2):
            addr = self._stack.enter_context(_name_server(self._home / f"namesrv-{number}"))
            self._console.print(f"   {BOOT} address [bold]{addr}[/]")
            self._namesrvs.append(Namesrv(addr, client))

    async def _start_brokers(self) -> None:
        self._step("Four brokers register with both: two masters, each with a slave")
        topics = tuple(TopicConfig(topic, read_queue_nums=4, write_queue_nums=4) for topic in TOPICS)
        plan = FleetPlan(FleetSettings(namesrvs=2), tuple(FLEET.values()), {"demo": topics}, ())
        addrs = ";".join(namesrv.addr for namesrv in self._namesrvs)
        self._fleet = await self._stack.enter_async_context(Fleet(plan, addrs, template=IN_A_HURRY))
        if self._fleet.summary.last_failure is not None:
            raise NamekeeperError(self._fleet.summary.last_failure)
        self._show(await operations.topic_route(self._namesrvs[0], TOPICS[0]), self._namesrvs[0])

    async def _stop_slave(self) -> None:
        self._step("The slave of broker-a stops cleanly: it unregisters")
        slave = FLEET["broker-a", 1]
        await self._fleet.perform(Stop(0, Kind.STOPS, slave.broker_addr))
        await self._show_without(slave, self._namesrvs[:1])

    async def _kill_master(self) -> None:
        self._step("The master of broker-b dies: its connections break, both name servers know at once")
        master = FLEET["broker-b", 0]
        await self._fleet.perform(Die(0, Kind.DEATHS, master.broker_addr))
        await self._show_without(master, self._namesrvs)

    async def _silence_master(self) -> None:
        self._step("The master of broker-a hangs: connected but silent, it expires")
        master = FLEET["broker-a", 0]
        await self._fleet.perform(Hang(0, Kind.HANGS, master.broker_addr))
        await self._show_without(master, self._namesrvs[:1])

    async def _ask_for_unknown_topic(self) -> None:
        self._step("A topic that nobody has")
        try:
            await operations.topic_route(self._namesrvs[0], "refunds")
        except ResponseError as error:
            self._console.print(f"   [yellow]code {error.code}[/] {(error.remark or '').splitlines()[0]}")

    async def _show_without(self, broker: PlannedBroker, namesrvs: list[Namesrv]) -> None:
        for namesrv in namesrvs:
            self._show(await _route_without(namesrv, broker.broker_addr), namesrv)

    def _step(self, text: str) -> None:
        self._console.print(f"\n[bold cyan]>[/] {text}")

    def _show(self, route: TopicRouteData, namesrv: Namesrv) -> None:
        table = Table(
            title=f"   route of {TOPICS[0]} at {namesrv.addr}", title_justify="left", box=None, pad_edge=True
        )
        for column in ("", "broker", "master", "slaves", "perm", "queues r/w"):
            table.add_column(column, no_wrap=True)
        queues = {queue.broker_name: queue for queue in route.queue_datas}
        for broker in sorted(route.broker_datas, key=lambda broker: broker.broker_name):
            queue = queues[broker.broker_name]
            slaves = ", ".join(addr for broker_id, addr in broker.broker_addrs.items() if broker_id)
            table.add_row(
                "",
                broker.broker_name,
                broker.broker_addrs.get(0, "[red]none[/]"),
                slaves or "-",
                format_perm(queue.perm),
                f"{queue.read_queue_nums}/{queue.write_queue_nums}",
            )
        self._console.print(table)


async def _route_without(namesrv: Namesrv, addr: str) -> TopicRouteData:
    """Look at the route until a broker is not in it any more."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while loop.time() < deadline:
        route = await operations.topic_route(namesrv, TOPICS[0])
        if all(addr not in broker.broker_addrs.values() for broker in route.broker_datas):
            return route
        await asyncio.sleep(LOOK_S)
    raise NamekeeperError(
        f"{addr} is still in the route of {TOPICS[0]} at {namesrv.addr} after {PATIENCE_S:g} s"
    )


@contextmanager
def _name_server(home: Path) -> Iterator[str]:
    """A name server in a process of its own; gives its address."""
    home.mkdir()
    command = [
        sys.executable,
        "-m",
        "namekeeper",
        "serve",
        "--listen-port",
        "0",
        "--bind-address",
        "127.0.0.1",
    ]
    command += ["--kv-config-path", str(home / "kvConfig.json"), "--log-root", str(home / "logs")]
    command += ["--scan-not-active-broker-interval", "500", "--http-port", "-1"]
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith(BOOT):
            raise NamekeeperError(
                f"a name server did not start; run it by hand to see why: {' '.join(command)}"
            )
        yield line.rsplit(" ", 1)[1].strip()
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
