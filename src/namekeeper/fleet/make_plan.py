"""From settings to a plan: a pure function, the same for the same seed on every machine.

Each kind of churn has its own random stream: a change of one rate does not move the events of other kinds.
"""

import heapq
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

from namekeeper.fleet.churn import ChurnKind
from namekeeper.fleet.plan import (
    Action,
    AddWritePerm,
    CreateTopic,
    Die,
    FleetPlan,
    FleetSettings,
    Hang,
    Heal,
    Partition,
    PlannedBroker,
    Start,
    Stop,
    SwitchRole,
    WipeWritePerm,
)
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.topic import TopicConfig

__all__ = ["make_plan"]

T = TypeVar("T")

_HOUR_MS = 3_600_000
_QUEUES = (4, 8, 16)
_PORTS_EACH = 10

_AWAY_SECONDS = {
    ChurnKind.RESTARTS: (5, 30),
    ChurnKind.STOPS: (60, 600),
    ChurnKind.DEATHS: (20, 300),
    ChurnKind.HANGS: (150, 400),
    ChurnKind.FLAPS: (2, 6),
    ChurnKind.WIPES: (30, 600),
    ChurnKind.PARTITIONS: (30, 300),
}
"""Shortest and longest duration in seconds; at most a quarter of the plan's duration."""
_FLAPS = (3, 6)
"""How many times in a row."""


def make_plan(settings: FleetSettings) -> FleetPlan:
    """Plan a fleet and everything that happens to it."""
    brokers = tuple(_brokers(settings))
    topics = {
        cluster: tuple(_topics(cluster, settings))
        for cluster in dict.fromkeys(broker.cluster_name for broker in brokers)
    }
    return FleetPlan(settings, brokers, topics, tuple(_Schedule(settings, brokers).actions()))


def _brokers(settings: FleetSettings) -> Iterator[PlannedBroker]:
    port = settings.first_port
    for number in range(settings.brokers):
        cluster = f"cluster-{number % settings.clusters + 1}"
        name = f"{cluster}-broker-{number // settings.clusters + 1:03d}"
        for broker_id in range(settings.slaves + 1):
            yield PlannedBroker(cluster, name, broker_id, f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}")
            port += _PORTS_EACH


def _topics(cluster: str, settings: FleetSettings) -> Iterator[TopicConfig]:
    rng = Random(f"{settings.seed} topics of {cluster}")  # noqa: S311 - a scenario, not a secret
    for number in range(settings.topics):
        queues = _one_of(rng, _QUEUES)
        yield TopicConfig(f"{cluster}-topic-{number + 1:05d}", queues, queues)


class _Schedule:
    """Draws events in the order of time, for brokers that have no other event at that time."""

    def __init__(self, settings: FleetSettings, brokers: tuple[PlannedBroker, ...]) -> None:
        self._settings = settings
        self._brokers = brokers
        self._end_ms = int(settings.duration_seconds * 1000)
        self._free_at: dict[str, int] = dict.fromkeys((broker.broker_addr for broker in brokers), 0)
        """Broker address, or broker name for events of all its brokers -> end of the last event."""
        self._master: dict[str, PlannedBroker] = {
            b.broker_name: b for b in brokers if b.broker_id == MASTER_ID
        }
        self._new_topics = 0
        self._state_version = 0
        self._draw: dict[ChurnKind, Callable[[Random, int], list[Action]]] = {
            ChurnKind.TOPICS: self._topic,
            ChurnKind.RESTARTS: self._restart,
            ChurnKind.STOPS: self._stop,
            ChurnKind.DEATHS: self._death,
            ChurnKind.HANGS: self._hang,
            ChurnKind.FLAPS: self._flaps,
            ChurnKind.SWITCHES: self._switch,
            ChurnKind.WIPES: self._wipe,
            ChurnKind.PARTITIONS: self._partition,
        }

    def actions(self) -> list[Action]:
        """Return all actions, in the order of time."""
        streams = [self._times(kind, rate) for kind, rate in sorted(self._settings.churn.items()) if rate]
        actions: list[Action] = []
        for at_ms, kind, rng in heapq.merge(*streams, key=lambda event: event[:2]):
            actions += self._draw[kind](rng, at_ms)
        return sorted((action for action in actions if action.at_ms < self._end_ms), key=lambda a: a.at_ms)

    def _times(self, kind: ChurnKind, an_hour: float) -> Iterator[tuple[int, ChurnKind, Random]]:
        rng = Random(f"{self._settings.seed} {kind}")  # noqa: S311 - a scenario, not a secret
        at_ms = 0.0
        while (at_ms := at_ms + rng.expovariate(an_hour / _HOUR_MS)) < self._end_ms:
            yield int(at_ms), kind, rng

    # Events; an empty list if no broker is free.

    def _topic(self, rng: Random, at_ms: int) -> list[Action]:
        self._new_topics += 1
        cluster = _one_of(rng, tuple(dict.fromkeys(broker.cluster_name for broker in self._brokers)))
        queues = _one_of(rng, _QUEUES)
        topic = TopicConfig(f"{cluster}-new-topic-{self._new_topics:05d}", queues, queues)
        return [CreateTopic(at_ms, ChurnKind.TOPICS, cluster, topic)]

    def _restart(self, rng: Random, at_ms: int) -> list[Action]:
        return self._away(rng, at_ms, ChurnKind.RESTARTS, Stop)

    def _stop(self, rng: Random, at_ms: int) -> list[Action]:
        return self._away(rng, at_ms, ChurnKind.STOPS, Stop)

    def _death(self, rng: Random, at_ms: int) -> list[Action]:
        return self._away(rng, at_ms, ChurnKind.DEATHS, Die)

    def _hang(self, rng: Random, at_ms: int) -> list[Action]:
        return self._away(rng, at_ms, ChurnKind.HANGS, Hang)

    def _flaps(self, rng: Random, at_ms: int) -> list[Action]:
        broker = self._free_broker(rng, at_ms)
        if broker is None:
            return []
        actions: list[Action] = []
        for _ in range(_FLAPS[0] + int(rng.random() * (_FLAPS[1] - _FLAPS[0] + 1))):
            back_ms = at_ms + self._lasts(rng, ChurnKind.FLAPS)
            actions += [
                Die(at_ms, ChurnKind.FLAPS, broker.broker_addr),
                Start(back_ms, ChurnKind.FLAPS, broker.broker_addr),
            ]
            at_ms = back_ms + self._lasts(rng, ChurnKind.FLAPS)
        self._free_at[broker.broker_addr] = at_ms
        return actions

    def _away(
        self, rng: Random, at_ms: int, kind: ChurnKind, leave: type[Stop] | type[Die] | type[Hang]
    ) -> list[Action]:
        broker = self._free_broker(rng, at_ms)
        if broker is None:
            return []
        back_ms = at_ms + self._lasts(rng, kind)
        self._free_at[broker.broker_addr] = back_ms + 1
        return [leave(at_ms, kind, broker.broker_addr), Start(back_ms, kind, broker.broker_addr)]

    def _switch(self, rng: Random, at_ms: int) -> list[Action]:
        pairs = [
            (self._master[broker.broker_name], broker)
            for broker in self._free(at_ms)
            if broker is not self._master[broker.broker_name]
            and self._free_at[self._master[broker.broker_name].broker_addr] <= at_ms
        ]
        if not pairs:
            return []
        master, slave = _one_of(rng, tuple(pairs))
        self._master[slave.broker_name] = slave
        self._state_version += 1
        return [
            SwitchRole(at_ms, ChurnKind.SWITCHES, master.broker_addr, slave.broker_addr, self._state_version)
        ]

    def _wipe(self, rng: Random, at_ms: int) -> list[Action]:
        names = [name for name in self._master if self._free_at.get(name, 0) <= at_ms]
        if not names:
            return []
        name = _one_of(rng, tuple(names))
        back_ms = at_ms + self._lasts(rng, ChurnKind.WIPES)
        self._free_at[name] = back_ms + 1
        return [WipeWritePerm(at_ms, ChurnKind.WIPES, name), AddWritePerm(back_ms, ChurnKind.WIPES, name)]

    def _partition(self, rng: Random, at_ms: int) -> list[Action]:
        broker = self._free_broker(rng, at_ms)
        if broker is None:
            return []
        namesrv = int(rng.random() * self._settings.namesrvs)
        back_ms = at_ms + self._lasts(rng, ChurnKind.PARTITIONS)
        self._free_at[broker.broker_addr] = back_ms + 1
        return [
            Partition(at_ms, ChurnKind.PARTITIONS, broker.broker_addr, namesrv),
            Heal(back_ms, ChurnKind.PARTITIONS, broker.broker_addr, namesrv),
        ]

    def _free(self, at_ms: int) -> list[PlannedBroker]:
        return [broker for broker in self._brokers if self._free_at[broker.broker_addr] <= at_ms]

    def _free_broker(self, rng: Random, at_ms: int) -> PlannedBroker | None:
        free = self._free(at_ms)
        return _one_of(rng, tuple(free)) if free else None

    def _lasts(self, rng: Random, kind: ChurnKind) -> int:
        low, high = _AWAY_SECONDS[kind]
        seconds = low + rng.random() * (high - low)
        return max(1, int(min(seconds, self._settings.duration_seconds / 4) * 1000))


def _one_of(rng: Random, values: tuple[T, ...]) -> T:
    """Draw one; `Random.choice` may draw differently in another release of Python."""
    return values[int(rng.random() * len(values))]
