"""Runs a plan with real registrars, against any name servers: ours, or Java's."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Self

from msgspec import Struct, field, structs, to_builtins

from namekeeper.broker.broker_client import make_broker_client
from namekeeper.broker.fixed_rate import Sleep
from namekeeper.broker.namesrv_session import RegisterBrokerResult
from namekeeper.broker.namesrv_sessions import split_addresses
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.broker.tasks import Tasks
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.broker.topic_config_table import TopicConfigTable
from namekeeper.clock import Clock, SystemClock
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.fleet.actions import FleetActions
from namekeeper.fleet.connections import REGISTRATIONS_AT_ONCE
from namekeeper.fleet.plan import Action, FleetPlan, PlannedBroker
from namekeeper.fleet.simulated_broker import SimulatedBroker
from namekeeper.model.now import Now
from namekeeper.model.version import DataVersion

__all__ = ["Fleet", "FleetSummary", "VersionClock"]

BROKERS_AT_ONCE = 16
"""Brokers that start, or stop, at the same time."""
TEMPLATE = BrokerSettings(
    broker_name="?", broker_addr="127.0.0.1:1", cluster_name="?", namesrv_addr="127.0.0.1:1"
)


class VersionClock:
    """The clock of a fleet's data versions: it stands still while one action is performed.

    So brokers that get the same topic in one action have the same version, and send the same bytes.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now = clock.now()

    def now(self) -> Now:
        """Return the time of the last `stamp`."""
        return self._now

    def stamp(self) -> None:
        """Take the current time."""
        self._now = self._clock.now()


class FleetSummary(Struct):
    """Counts since the start of the fleet; they change while it runs."""

    brokers: int = 0
    """Brokers of the plan."""
    running: int = 0
    """Brokers that run now."""
    topics: int = 0
    """Topic configurations of all running brokers."""
    actions: Counter[str] = field(default_factory=Counter)
    """Name of an action -> how often it was performed."""
    failed_actions: int = 0
    """Number of actions that failed."""
    registrations: dict[str, int] = field(default_factory=dict)
    """Name server -> registrations it accepted."""
    failures: dict[str, int] = field(default_factory=dict)
    """Name server -> registrations that failed."""
    last_failure: str | None = None

    def count(self, result: RegisterBrokerResult) -> None:
        """Count one result of one broker at one name server."""
        table = self.registrations if result.error is None else self.failures
        table[result.namesrv_addr] = table.get(result.namesrv_addr, 0) + 1
        if result.error is not None:
            self.last_failure = str(result.error)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return dict(to_builtins(self))


class Fleet:
    """A fleet that runs while it is entered; an async context manager.

    Entering it registers every broker, leaving it unregisters those that run. In between, `play` performs the
    plan, and `perform` any other action. Failures of name servers are not raised but counted in `summary`.
    """

    def __init__(
        self,
        plan: FleetPlan,
        namesrv_addr: str,
        *,
        template: BrokerSettings = TEMPLATE,
        on_action: Callable[[Action, NamekeeperError | None], object] | None = None,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Take the settings.

        Args:
            plan: the brokers and the actions.
            namesrv_addr: `host:port;host:port`, as many as the plan has.
            template: how brokers register; names and addresses come from the plan.
            on_action: called after each action, with its failure or None.
            clock: the time.
            sleep: waits between actions.

        Raises:
            ConfigError: no address, one that can't be used, or not as many as the plan has.
        """
        self.plan = plan
        self.namesrv_addrs = tuple(split_addresses(namesrv_addr))
        if len(self.namesrv_addrs) != plan.settings.namesrvs:
            raise ConfigError(
                f"the plan is for {plan.settings.namesrvs} name servers, {len(self.namesrv_addrs)} are given"
            )
        self.summary = FleetSummary(brokers=len(plan.brokers))
        self._clock = clock or SystemClock()
        self._version_clock = VersionClock(self._clock)
        self._sleep = sleep
        self._on_action = on_action
        self._control = make_broker_client(template)
        self._tasks = Tasks()
        self.brokers = self._make_brokers(template)
        """Broker address -> the broker, whether it runs or not."""
        self._actions = FleetActions(self.brokers, self.namesrv_addrs, self._control)

    async def __aenter__(self) -> Self:
        """Start all brokers; returns when each has registered, or failed to."""
        try:
            await self._all(SimulatedBroker.start)
        except BaseException:  # stopped meanwhile: registered brokers unregister
            await self.__aexit__()
            raise
        self._count_running()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the actions under way, then stop all brokers: they unregister."""
        await self._tasks.cancel()
        await self._all(SimulatedBroker.stop)
        await self._control.close()
        self._count_running()

    @property
    def registrars(self) -> Mapping[str, BrokerRegistrar]:
        """Broker address -> its registrar, for running brokers."""
        return {
            addr: broker.registrar for addr, broker in self.brokers.items() if broker.registrar is not None
        }

    async def play(self, *, fast: bool = False) -> None:
        """Perform the plan, and return at its end.

        Args:
            fast: one action after the other, without waiting for its time; each is complete before the next.
        """
        start_ms = self._clock.now().mono_ms
        for action in self.plan.actions:
            if fast:
                await self.perform(action, at_once=True)
            else:
                await self._wait_until(start_ms + action.at_ms)
                # Brokers don't wait for each other; the actions of one broker keep their order.
                self._tasks.start(self.perform(action))
        if not fast:
            await self._wait_until(start_ms + int(self.plan.settings.duration_seconds * 1000))

    async def perform(self, action: Action, *, at_once: bool = False) -> NamekeeperError | None:
        """Perform one action; return its failure, if any.

        Args:
            action: one of the plan, or another one.
            at_once: register changes at once, instead of in the next period.
        """
        self._version_clock.stamp()
        failure: NamekeeperError | None = None
        try:
            await self._actions.do(action, at_once=at_once)
        except NamekeeperError as error:
            failure = error
            self.summary.failed_actions += 1
            self.summary.last_failure = str(error)
        self.summary.actions[type(action).__name__] += 1
        self._count_running()
        if self._on_action is not None:
            self._on_action(action, failure)
        return failure

    async def abort(self) -> None:
        """Close all connections without unregistering, as a crash of all brokers does."""
        await self._tasks.cancel()
        await self._all(SimulatedBroker.die)
        await self._control.close()

    async def _wait_until(self, mono_ms: int) -> None:
        while (wait_ms := mono_ms - self._clock.now().mono_ms) > 0:
            await self._sleep(wait_ms / 1000)

    async def _all(self, do: Callable[[SimulatedBroker], Awaitable[None]]) -> None:
        """Call `do` with every broker, some at a time; a failure does not stop the others."""
        limit = asyncio.Semaphore(BROKERS_AT_ONCE)

        async def one(broker: SimulatedBroker) -> None:
            async with limit, broker.turn:
                with contextlib.suppress(NamekeeperError):
                    await do(broker)

        await asyncio.gather(*(one(broker) for broker in self.brokers.values()))

    def _make_brokers(self, template: BrokerSettings) -> dict[str, SimulatedBroker]:
        limits = {addr: asyncio.Semaphore(REGISTRATIONS_AT_ONCE) for addr in self.namesrv_addrs}
        tables = {cluster: TopicConfigTable(topics) for cluster, topics in self.plan.topics.items()}
        version = DataVersion(1, 0, self._clock.now().wall_ms)

        def make(planned: PlannedBroker) -> SimulatedBroker:
            topics = TopicConfigManager(tables[planned.cluster_name], version, clock=self._version_clock)
            settings = _settings(template, planned, self.namesrv_addrs)
            return SimulatedBroker(settings, topics, self.namesrv_addrs, limits, self._count)

        return {planned.broker_addr: make(planned) for planned in self.plan.brokers}

    def _count(self, result: RegisterBrokerResult) -> None:
        self.summary.count(result)

    def _count_running(self) -> None:
        running = [broker for broker in self.brokers.values() if broker.registrar is not None]
        self.summary.running = len(running)
        self.summary.topics = sum(len(broker.topics.table) for broker in running)


def _settings(template: BrokerSettings, broker: PlannedBroker, addrs: Iterable[str]) -> BrokerSettings:
    return structs.replace(
        template,
        broker_name=broker.broker_name,
        broker_addr=broker.broker_addr,
        cluster_name=broker.cluster_name,
        broker_id=broker.broker_id,
        ha_server_addr=broker.ha_server_addr,
        namesrv_addr=";".join(addrs),
        address_server=None,
    )
