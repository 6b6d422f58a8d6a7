"""The making of one sequence: its state, its connections, its steps, and how the servers come together again.

A maker runs both models along with what it makes: Java's tells what is there, the difference between the
two tells when to bring the servers together again, so that most requests meet equal tables.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from tests.differential.bodies import Broker, registration
from tests.differential.steps import Ask, Close, Expire, Restart, Step, World
from tests.support.java_model.server import SWITCHES, JavaModel
from tests.support.java_model.tables import Rules
from tests.support.java_model.values import Request

__all__ = ["Maker", "expire", "take"]

T = TypeVar("T")

CONNECTIONS = 5
HEAL_AFTER = 4
RESTART_SHARE = 0.1
"""Few sequences have restarts: Java takes seconds for each."""
RESTART_HEAL_AFTER = 20
"""Steps after a restart until the rows that only ours has are removed."""
CONFIRMED_SHARE = 0.7
"""Brokers that register again after a restart; the others are silent for a while."""
_ANSWERS_ONLY = {"quoted_keys", "bare_errors"}


class Maker:
    """Makes one sequence; a subclass says of which operations."""

    binary_share = 0.1
    """Requests with a binary header, and of 322 without a body: what the 4.x line takes otherwise."""

    def __init__(self, chance: random.Random, world: World) -> None:
        self.chance = chance
        self.world = world
        self.java = JavaModel()
        self.ours = JavaModel(Rules.ours())
        self.steps: list[Step] = []
        self.brokers: dict[tuple[str, str], Broker] = {}
        self.sent: dict[tuple[str, str], list[Broker]] = {}
        self.conns = list(range(1, CONNECTIONS + 1))
        self.next_conn = CONNECTIONS + 1
        self.heals: list[tuple[int, Broker]] = []
        self.operations = self.weights()
        self.restarts = [True, False] if chance.random() < RESTART_SHARE else []
        """With restored routes, or without, for each restart that is to come."""
        chance.shuffle(self.restarts)
        self.mapping_share = 0.4 if chance.random() < 0.3 else 0.0
        """Few sequences have static topics: a mapping that Java keeps can't be healed."""

    def weights(self) -> dict[Callable[[], None], int]:
        """Return how often each operation is chosen."""
        raise NotImplementedError

    def make(self, length: int) -> list[Step]:
        """Return the steps."""
        self.settings({name: self.chance.random() < 0.5 or default for name, default in SWITCHES.items()})
        operations, weights = list(self.operations), list(self.operations.values())
        between = length // (len(self.restarts) + 1)
        restart_at = between
        while len(self.steps) < length:
            if self.restarts and len(self.steps) >= restart_at:
                self.restart(restore_routes=self.restarts.pop())
                restart_at = len(self.steps) + between
            self.chance.choices(operations, weights)[0]()
            self.heal_due()
        return self.steps

    def settings(self, values: dict[str, bool]) -> None:
        """Send a 318."""
        text = "".join(f"{name}={str(value).lower()}\n" for name, value in values.items())
        self.ask(Request(318, {}, text.encode()), "switch")

    def restart(self, *, restore_routes: bool) -> None:
        """The server restarts; most brokers register again over new connections, as they do within 30 s."""
        live = [self.brokers[key] for key in self.ours.tables.live if key in self.brokers]
        self.add(Restart(restore_routes))
        self.conns = [self.fresh() for _ in self.conns]
        for broker in live:
            again = replace(broker, conn=self.pick(self.conns))
            if self.chance.random() < CONFIRMED_SHARE:
                self.add(Ask(again.conn, registration(again), "register: after a restart"), again)
                self.brokers[again.cluster, again.addr] = again
            self.heals.append((len(self.steps) + RESTART_HEAL_AFTER, again))

    # bringing the servers together again

    def heal_due(self) -> None:
        """Unregister, as an administrator would, what the servers see differently since a while."""
        due = [broker for at, broker in self.heals if at <= len(self.steps)]
        self.heals = [(at, broker) for at, broker in self.heals if at > len(self.steps)]
        for broker in due:
            self.heal(broker)
        if self.chance.random() < 1 / HEAL_AFTER:
            self.heal_clusters()

    def heal_clusters(self) -> None:
        """Have Java forget names that it left in a cluster's set: a broker registers properly and goes properly."""
        listed = self.java.tables.clusters.items()
        for cluster, name in [(cluster, name) for cluster, names in listed for name in sorted(names)]:
            if name not in self.ours.tables.clusters.get(cluster, ()) and name not in self.java.tables.groups:
                conn = self.fresh()
                passing = Broker(cluster, name, 0, f"10.0.99.1:1{self.world.tag}", conn)
                self.add(Ask(conn, registration(passing), "register: heal"))
                self.add(Ask(conn, Request(104, passing.fields()), "unregister: heal"))
                self.add(Close(conn))

    def heal(self, broker: Broker) -> None:
        """Have neither server know this address."""
        self.unregister_all([(cluster, name, broker.addr) for cluster, name in self.traces(broker.addr)])

    def unregister_all(self, members: list[tuple[str, str, str]]) -> None:
        """Send 104s over a connection that nothing else came over: (cluster, broker name, address)."""
        conn = self.fresh()
        for cluster, name, addr in members:
            member = str(self.member_id(name, addr))  # 4.x goes by it, whatever the address is
            fields = {"clusterName": cluster, "brokerName": name, "brokerAddr": addr, "brokerId": member}
            self.add(Ask(conn, Request(104, fields), "unregister: heal"))
        self.add(Close(conn))

    def member_id(self, name: str, addr: str) -> int:
        """Return the id that an address has under a broker name in either model; 0 if in none."""
        groups = [model.tables.groups.get(name) for model in (self.java, self.ours)]
        addrs = [entry for group in groups if group is not None for entry in group.addrs.items()]
        return next((broker_id for broker_id, known in addrs if known == addr), 0)

    def traces(self, addr: str) -> Iterator[tuple[str, str]]:
        """Say under which clusters and names either model knows an address."""
        found = set()
        for model in (self.java, self.ours):
            live = {key: entry.name for key, entry in model.tables.live.items() if key[1] == addr}
            found |= {(cluster, name) for (cluster, _), name in live.items()}
            for name, group in model.tables.groups.items():
                if addr in group.addrs.values():
                    found.add((group.cluster, name))
        return iter(sorted(found))

    # parts

    def pick(self, values: Iterable[T]) -> T:
        """Choose one."""
        return self.chance.choice(tuple(values))

    def some_topics(self) -> list[str]:
        """Choose one or two topics."""
        return self.chance.sample(self.world.topics, self.chance.randrange(1, 3))

    def registered_broker(self) -> Broker | None:
        """Choose a broker that is live, as a rule."""
        live = [self.brokers[key] for key in self.java.tables.live if key in self.brokers]
        pool = live if self.chance.random() < 0.9 else list(self.brokers.values())
        return self.pick(pool) if pool else None

    def bump(self, broker: Broker) -> None:
        """Give it a newer version."""
        broker.counter += 1

    def fresh(self) -> int:
        """Return a connection that nothing came over yet."""
        self.next_conn += 1
        return self.next_conn - 1

    def ask(self, request: Request, label: str) -> None:
        """Send a request over any connection."""
        self.add(Ask(self.pick(self.conns), request, label))

    def add(self, step: Step, broker: Broker | None = None) -> None:
        """Append a step and have both models take it; a difference that it makes is healed a little later."""
        if isinstance(step, Ask) and step.conn in self.java.tables.closed:
            step = replace(step, conn=self.pick(self.conns))
            if broker is not None:
                broker.conn = step.conn
        before = self.ours.tables.differed.copy()
        self.steps.append(step)
        for model in (self.java, self.ours):
            take(model, step, len(self.steps))
        if broker is not None and _lasting(self.ours.tables.differed - before):
            self.heals.append((len(self.steps) + self.chance.randrange(HEAL_AFTER), broker))


def take(model: JavaModel, step: Step, now_ms: int) -> None:
    """Have a model take a step."""
    if isinstance(step, Close):
        model.tables.close(step.conn)
        return
    if isinstance(step, Restart):
        model.tables.restart(restore_routes=step.restore_routes)
        return
    model.ask(step.request, step.conn, now_ms)
    if isinstance(step, Expire):
        expire(model, step, now_ms)


def expire(model: JavaModel, step: Expire, now_ms: int) -> None:
    """Have a model do what follows a registration with a short timeout: expiry closes the connection."""
    model.tables.scan(now_ms + 10_000)
    model.tables.close(step.conn)


def _lasting(differed: Mapping[str, int]) -> bool:
    return any(differed[name] for name in differed if name not in _ANSWERS_ONLY)
