"""The incident: a fleet and a producer live through what goes wrong in a cluster, in fast motion."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct, structs

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.broker.settings import BrokerSettings
from namekeeper.cli.demo.servers import DemoObserver, DemoServer
from namekeeper.cli.demo.show import Stage
from namekeeper.client.client_config import ClientConfig
from namekeeper.client.groups import Producer
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.clock import SystemClock
from namekeeper.errors import NamekeeperError, NoNameServerError, ResponseError
from namekeeper.fleet.churn import ChurnKind
from namekeeper.fleet.fleet import TEMPLATE, Fleet
from namekeeper.fleet.plan import (
    Action,
    AddWritePerm,
    Die,
    FleetPlan,
    FleetSettings,
    Hang,
    Heal,
    Partition,
    PlannedBroker,
    Start,
    Stop,
    WipeWritePerm,
)
from namekeeper.model.topic import TopicConfig
from namekeeper.remoting.client import RemotingClient

__all__ = ["Incident", "IncidentTimes"]

TOPIC = "orders"
TOPICS = (TOPIC, "payments", "shipments")
MISSING = "refunds"
FLEET = {
    (name, broker_id): PlannedBroker("demo", name, broker_id, f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}")
    for name, broker_id, port in (
        ("broker-a", 0, 20_911),
        ("broker-a", 1, 20_921),
        ("broker-b", 0, 20_931),
    )
}
"""Broker name and id: two masters, one with a slave. Nothing listens there: a name server never connects to
a broker's address to register it."""
IN_A_HURRY: BrokerSettings = structs.replace(
    TEMPLATE,
    enable_slave_acting_master=True,
    broker_heartbeat_interval_ms=500,
    broker_not_active_timeout_ms=15_000,
)
"""Short, so that a silent broker expires during the demo; but longer than a restart."""
POLL_MS = 300
"""A normal client asks every 30 s; this one more often."""
FLAPS = 3
PATIENCE_SECONDS = 120.0  # far away, for a busy machine
LOOK_SECONDS = 0.05
LINGER_SECONDS = 1.2
"""Each state lasts a little, so that it can be seen in the report."""


class IncidentTimes(Struct):
    """Times of the events, in wall ms, for the questions of the second half."""

    calm_ms: int = 0
    """All brokers are there."""
    wiped_ms: int = 0
    """Nobody may write to broker-a, and broker-b is away."""
    cut_ms: int = 0
    """One name server doesn't see broker-b."""
    gone_ms: int = 0
    """Nobody is left."""


class Incident:
    """The story, a step at a time; afterwards the journals hold it."""

    def __init__(self, stage: Stage, home: Path) -> None:
        self.times = IncidentTimes()
        self.servers = [DemoServer(home, namesrv) for namesrv in ("ns-1", "ns-2")]
        self.observer = DemoObserver(home, self.servers[1])
        self._stage = stage
        self._clock = SystemClock()
        self._namesrvs: list[Namesrv] = []
        self._fleet: Fleet
        self._client: MQClientInstance
        self._producer: Producer

    async def run(self) -> None:
        """Play the incident; every process is stopped at the end.

        Raises:
            NamekeeperError: something did not happen in time.
        """
        async with AsyncExitStack() as stack:
            await self._start_name_servers(stack)
            await self._start_observer(stack)
            await self._start_brokers(stack)
            await self._start_producer(stack)
            await self._stop_slave()
            await self._restart()
            await self._kill_and_flap()
            await self._wipe_write_permission()
            await self._cut_off()
            await self._lose_every_name_server()
            await self._hang()
            await self._ask_for_a_missing_topic()
            self._stage.step("Brokers unregister, name servers stop and seal their journals")
            self.times.gone_ms = self._now_ms()

    # The steps.

    async def _start_name_servers(self, stack: AsyncExitStack) -> None:
        self._stage.step("Two name servers start; they know nothing of each other")
        control = await stack.enter_async_context(RemotingClient())
        for server in self.servers:
            stack.enter_context(server)
            await server.start()
            self._stage.note(f"{server.namesrv} at [bold]{server.addr}[/]")
            self._namesrvs.append(Namesrv(server.addr, control, timeout_ms=60_000))

    async def _start_observer(self, stack: AsyncExitStack) -> None:
        self._stage.step("An observer starts beside ns-2, as beside a name server of Java: it only asks")
        stack.enter_context(self.observer)
        await self.observer.start()

    async def _start_brokers(self, stack: AsyncExitStack) -> None:
        self._stage.step("Three brokers register with both: two masters, one with a slave")
        topics = tuple(TopicConfig(topic, read_queue_nums=4, write_queue_nums=4) for topic in TOPICS)
        plan = FleetPlan(FleetSettings(namesrvs=2), tuple(FLEET.values()), {"demo": topics}, ())
        self._fleet = await stack.enter_async_context(Fleet(plan, self._addrs, template=IN_A_HURRY))
        if self._fleet.summary.last_failure is not None:
            raise NamekeeperError(self._fleet.summary.last_failure)
        await self._show(0)

    async def _start_producer(self, stack: AsyncExitStack) -> None:
        self._stage.step(f"A producer asks where {TOPIC} can be sent to, and is kept up to date")
        config = ClientConfig(namesrv_addr=self._addrs, poll_name_server_interval_ms=POLL_MS)
        self._client = await stack.enter_async_context(MQClientInstance(config))
        self._producer = self._client.register_producer("demo-producer")
        await self._producer.publish_message_queues(TOPIC)
        self._say_queues()
        await self._linger()
        self.times.calm_ms = self._now_ms()

    async def _stop_slave(self) -> None:
        self._stage.step("The slave of broker-a stops cleanly: it unregisters")
        slave = FLEET["broker-a", 1]
        await self._do(Stop(0, ChurnKind.STOPS, slave.broker_addr))
        await self._until(f"{slave.broker_addr} is gone", lambda: self._is_absent(0, slave))
        await self._show(0)

    async def _restart(self) -> None:
        """Ask as soon as the port listens, before any broker can have registered again."""
        self._stage.step("ns-1 is restarted, as for an upgrade: its routes are there when its port listens")
        await self.servers[0].stop()
        await self.servers[0].start()
        try:
            await self._show(0)
        except ResponseError as error:
            raise NamekeeperError(f"a gap after the restart: {error}") from None
        await self._until("the brokers are connected again", self._register_again)

    async def _kill_and_flap(self) -> None:
        master = FLEET["broker-b", 0]
        self._stage.step("The master of broker-b dies: its connections break, both name servers know at once")
        await self._do(Die(0, ChurnKind.DEATHS, master.broker_addr))
        await self._until_queues(lambda queues: {queue.broker_name for queue in queues} == {"broker-a"})
        self._say_queues()
        await self._linger()
        self._stage.step(f"It comes back, and flaps {FLAPS} times")
        for _ in range(FLAPS):
            await self._do(Start(0, ChurnKind.FLAPS, master.broker_addr))
            await self._linger()
            await self._do(Die(0, ChurnKind.FLAPS, master.broker_addr))
            await asyncio.sleep(LINGER_SECONDS / 3)

    async def _wipe_write_permission(self) -> None:
        self._stage.step("Somebody wipes the write permission of broker-a, while broker-b is away")
        await self._do(WipeWritePerm(0, ChurnKind.WIPES, "broker-a"))
        await self._until_queues(lambda queues: not queues)
        await self._show(0)
        self._say_queues()
        await self._linger()
        self.times.wiped_ms = self._now_ms()
        self._stage.step("The permission is given back, and broker-b returns")
        await self._do(AddWritePerm(0, ChurnKind.WIPES, "broker-a"))
        await self._do(Start(0, ChurnKind.FLAPS, FLEET["broker-b", 0].broker_addr))
        await self._until_queues(lambda queues: len(queues) == 8)
        self._say_queues()

    async def _cut_off(self) -> None:
        master = FLEET["broker-b", 0]
        self._stage.step("ns-2 is cut off from broker-b: the two name servers disagree")
        await self._do(Partition(0, ChurnKind.PARTITIONS, master.broker_addr, 1))
        await self._until("ns-2 forgets broker-b", lambda: self._is_absent(1, master))
        await self._show(0)
        await self._show(1)
        await asyncio.sleep(5 * LINGER_SECONDS)  # under 5 s it would count as propagation, not as drift
        self.times.cut_ms = self._now_ms()
        await self._do(Heal(0, ChurnKind.PARTITIONS, master.broker_addr, 1), at_once=True)
        await self._until("ns-2 sees broker-b again", lambda: self._is_present(1, master))

    async def _lose_every_name_server(self) -> None:
        self._stage.step(
            "Every name server is down: the producer keeps its routes, and says how old they are"
        )
        for server in self.servers:
            await server.stop()
        await self._linger()
        try:
            await self._client.update_topic_route_info_from_name_server(TOPIC)
        except NoNameServerError as error:
            self._stage.note(f"[yellow]no answer[/] from {' and '.join(error.failures)}")
        self._say_queues()
        knowledge = self._client.knowledge(TOPIC)
        self._stage.note(
            f"the route of {TOPIC} was last confirmed {(knowledge.age_ms or 0) / 1000:.1f} s ago"
        )
        self._stage.step("They come back; the brokers register again, the producer goes on")
        for server in self.servers:
            await server.start()
        await self._until("the brokers are registered again", self._register_again)
        await self._until(f"{TOPIC} is confirmed again", self._is_fresh)
        await self._until_queues(lambda queues: len(queues) == 8)
        self._say_queues()

    async def _hang(self) -> None:
        master = FLEET["broker-a", 0]
        self._stage.step("The master of broker-a hangs: connected but silent, it expires")
        await self._do(Hang(0, ChurnKind.HANGS, master.broker_addr))
        await self._until("it expires", lambda: self._is_absent(0, master))
        await self._show(0)

    async def _ask_for_a_missing_topic(self) -> None:
        self._stage.step("A topic that nobody has")
        try:
            await operations.topic_route(self._namesrvs[0], MISSING)
        except ResponseError as error:
            self._stage.note(f"[yellow]code {error.code}[/] {(error.remark or '').splitlines()[0]}")

    # Shared by the steps.

    @property
    def _addrs(self) -> str:
        return ";".join(namesrv.addr for namesrv in self._namesrvs)

    async def _do(self, action: Action, *, at_once: bool = False) -> None:
        failure = await self._fleet.perform(action, at_once=at_once)
        if failure is not None:
            raise failure

    def _queues(self) -> tuple[MessageQueue, ...]:
        return self._producer.topic_publish_info_table[TOPIC].message_queues

    def _say_queues(self) -> None:
        queues = self._queues()
        brokers = ", ".join(sorted({queue.broker_name for queue in queues})) or "none"
        self._stage.note(f"the producer sees [bold]{len(queues)}[/] queues to send to ({brokers})")

    async def _show(self, namesrv: int) -> None:
        route = await operations.topic_route(self._namesrvs[namesrv], TOPIC)
        self._stage.route(TOPIC, route, self.servers[namesrv].namesrv)

    async def _is_present(self, namesrv: int, broker: PlannedBroker) -> bool:
        route = await operations.topic_route(self._namesrvs[namesrv], TOPIC)
        return any(broker.broker_addr in data.broker_addrs.values() for data in route.broker_datas)

    async def _is_absent(self, namesrv: int, broker: PlannedBroker) -> bool:
        return not await self._is_present(namesrv, broker)

    async def _register_again(self) -> bool:
        """Register now: brokers would do so themselves within 30 s, which is too long for a demo."""
        results = [await registrar.register_broker_all() for registrar in self._fleet.registrars.values()]
        return all(result.error is None for some in results for result in some)

    async def _is_fresh(self) -> bool:
        return self._client.knowledge(TOPIC).error is None

    async def _until_queues(self, condition: Callable[[tuple[MessageQueue, ...]], bool]) -> None:
        async def holds() -> bool:
            return condition(self._queues())

        await self._until("the producer knows", holds)

    async def _until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        while not await holds():
            if loop.time() > deadline:
                raise NamekeeperError(f"not within {PATIENCE_SECONDS:g} s: {what}")
            await asyncio.sleep(LOOK_SECONDS)

    async def _linger(self) -> None:
        await asyncio.sleep(LINGER_SECONDS)

    def _now_ms(self) -> int:
        return self._clock.now().wall_ms
