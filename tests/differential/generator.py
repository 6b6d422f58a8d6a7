"""Sequences of requests that know the state, so that most succeed and many collide.

A generator runs both models along with what it makes: Java's tells what is there, the difference between
the two tells when to bring the servers together again, so that most requests meet equal tables.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator

from tests.differential.bodies import Broker, TopicConfig, registration, route_body
from tests.differential.malformed import malformed
from tests.differential.steps import KV_NAMESPACES, Ask, Close, Expire, Step, World
from tests.support.java_model import SWITCHES, JavaModel
from tests.support.java_model_tables import Rules
from tests.support.java_model_values import Request

__all__ = ["expire", "generate", "take"]

CONNECTIONS = 5
HEAL_AFTER = 4
PERMS = (6, 6, 6, 6, 4, 2, 7, 0, 3)
ZONES = (None, None, None, "zone-a", "Zone-B")


def generate(seed: str, tag: str, length: int, *, shared: bool = False) -> list[Step]:
    """Return a sequence of about `length` requests, the same for the same seed."""
    maker = SharedGenerator if shared else Generator
    return maker(random.Random(seed), World.of(tag)).make(length)


class Generator:
    """Makes one sequence."""

    binary_share = 0.1
    """Requests with a binary header, and of 322 without a body: what the 4.x line takes otherwise."""

    def __init__(self, chance: random.Random, world: World) -> None:
        self.chance = chance
        self.world = world
        self.java = JavaModel()
        self.ours = JavaModel(Rules.ours())
        self.steps: list[Step] = []
        self.brokers: dict[tuple[str, str], Broker] = {}
        self.said: dict[tuple[str, str], list[Broker]] = {}
        self.conns = list(range(1, CONNECTIONS + 1))
        self.next_conn = CONNECTIONS + 1
        self.heals: list[tuple[int, Broker]] = []
        self.operations = self.weights()
        self.mapping_share = 0.4 if chance.random() < 0.3 else 0.0
        """Few sequences have static topics: a mapping that Java keeps can't be healed."""

    def weights(self) -> dict[Callable[[], None], int]:
        """Return how often each operation is chosen."""
        return {
            self.register_new: 14, self.register_again: 28, self.take_over: 2, self.move: 1, self.split: 2,
            self.unregister: 6, self.unregister_wrongly: 2, self.old_process: 1, self.heartbeat: 4, self.query_version: 5, self.perms: 6,
            self.register_topic: 4, self.delete_topic: 4, self.look_up: 10, self.lists: 4, self.put_kv: 3,
            self.other_kv: 3, self.close: 4, self.expire: 1, self.switch: 2, self.malformed: 4,
        }  # fmt: skip

    def make(self, length: int) -> list[Step]:
        """Return the steps."""
        self.settings(
            {name: self.chance.random() < 0.5 if name in _FREE else SWITCHES[name] for name in SWITCHES}
        )
        operations, weights = list(self.operations), list(self.operations.values())
        while len(self.steps) < length:
            self.chance.choices(operations, weights)[0]()
            self.heal_due()
        return self.steps

    # registering

    def register_new(self) -> None:
        """Some broker, often one that collides with another."""
        broker = self.new_broker()
        if self.chance.random() < 0.8:
            taken = {entry.addr for entry in self.brokers.values()}
            broker.addr = self.pick(
                [addr for addr in self.world.addrs if addr not in taken] or self.world.addrs
            )
        self.register(broker)

    def new_broker(self) -> Broker:
        """Return a broker with random properties."""
        form = self.chance.choices(("json4", "json5", "zip4", "zip5", "old"), (20, 40, 10, 25, 5))[0]
        broker = Broker(
            cluster=self.pick(self.world.clusters[:2]),
            name=self.pick(self.world.names),
            broker_id=self.chance.choices((0, 1, 2), (5, 3, 2))[0],
            addr=self.pick(self.world.addrs),
            conn=self.pick(self.conns),
            form=form,
        )
        if form in {"json5", "zip5"}:
            broker.acting = self.chance.choices((True, False, None), (5, 4, 1))[0]
            broker.zone = self.pick(ZONES)
            broker.timeout = self.pick((None, None, "60000", "600000"))
            broker.state = self.chance.randrange(3)
        self.change_topics(broker)
        return broker

    def change_topics(self, broker: Broker) -> None:
        """Give it other topics under a new version."""
        broker.counter += 1
        count = self.chance.choices((0, 1, 3, 5), (1, 1, 4, 4))[0]
        broker.topics = {topic: self.topic_config() for topic in self.chance.sample(self.world.topics, count)}
        broker.filters = ["10.9.9.9:1", "10.9.9.9:2"][: self.chance.choices((0, 1, 2), (8, 1, 1))[0]]
        broker.mappings = {}
        if broker.form in {"json5", "zip5"} and self.chance.random() < self.mapping_share:
            broker.mappings = {topic: self.mapping(broker, topic) for topic in self.some_topics()}

    def topic_config(self) -> TopicConfig:
        """Return the queues of a topic."""
        perm, flag = self.pick(PERMS), self.chance.choices((0, 1, 2, 3), (6, 1, 1, 1))[0]
        return TopicConfig(self.pick((4, 8, 16)), self.pick((4, 8, 16)), perm, flag)

    def mapping(self, broker: Broker, topic: str) -> dict[str, object]:
        """Return a static-topic mapping."""
        epoch = self.pick((1_700_000_000_002, 2**53 + 10))
        ids = {str(index): index for index in range(self.chance.randrange(3))}
        return {
            "bname": broker.name, "currIdMap": ids, "dirty": False, "epoch": epoch, "scope": "__global__",
            "topic": topic, "totalQueues": 4,
        }  # fmt: skip

    def register(self, broker: Broker, label: str = "register") -> None:
        """Send its registration and remember it."""
        self.brokers[broker.cluster, broker.addr] = broker
        self.said.setdefault((broker.cluster, broker.addr), []).append(broker)
        request = registration(
            broker, crc=self.chance.random() < 0.6, binary=self.chance.random() < self.binary_share
        )
        self.add(Ask(broker.conn, request, label), broker)

    def register_again(self) -> None:
        """A broker that is there says the same again, or nearly so."""
        broker = self.known_broker()
        if broker is not None:
            kind = self.chance.choices(list(_AGAIN), list(_AGAIN.values()))[0]
            self.register(self.changed(dataclasses.replace(broker), kind), f"register again: {kind}")

    def changed(self, broker: Broker, kind: str) -> Broker:
        """Return a broker with something else to say."""
        if kind == "earlier":
            earlier = self.pick(self.said.get((broker.cluster, broker.addr), [broker])[-4:])
            return dataclasses.replace(earlier, conn=broker.conn)
        if kind == "version":
            self.change_topics(broker)
        elif kind == "rows":
            broker.topics = {topic: self.topic_config() for topic in broker.topics}
        elif kind == "filters":
            broker.filters = [] if broker.filters else ["10.9.9.9:1"]
        elif kind == "header":
            broker.acting, broker.zone = self.pick((broker.acting, True, False, None)), self.pick(ZONES)
        elif kind == "conn":
            broker.conn = self.pick(self.conns)
        elif kind == "id":
            broker.broker_id = self.chance.randrange(3)
            self.bump(broker)
        return broker

    def take_over(self) -> None:
        """Another address registers under the name and id of one that is there."""
        victim = self.known_broker()
        if victim is None:
            return
        addr = self.pick([addr for addr in self.world.addrs if addr != victim.addr])
        taker = dataclasses.replace(victim, addr=addr, conn=self.pick(self.conns))
        taker.state = max(0, victim.state + self.pick((-1, 0, 1)))
        self.bump(taker)
        self.register(taker, "register: take over")

    def move(self) -> None:
        """An address registers under another name."""
        broker = self.known_broker()
        if broker is not None:
            broker = dataclasses.replace(broker, name=self.pick(self.world.names))
            broker.mappings = {}
            self.bump(broker)
            self.register(broker, "register: move")

    def split(self) -> None:
        """A registration in chunks, all of one version."""
        broker = self.known_broker()
        if broker is None:
            return
        broker = dataclasses.replace(
            broker, topics={topic: self.topic_config() for topic in self.world.topics}
        )
        self.bump(broker)
        items = list(broker.topics.items())
        for start in range(0, len(items), 3):
            self.register(
                dataclasses.replace(broker, topics=dict(items[start : start + 3])), "register: chunk"
            )
        self.brokers[broker.cluster, broker.addr] = broker

    # leaving

    def unregister(self) -> None:
        """A broker goes."""
        broker = self.known_broker()
        if broker is not None:
            conn = broker.conn if self.chance.random() < 0.8 else self.fresh()
            self.add(Ask(conn, Request(104, broker.fields()), "unregister"), broker)

    def unregister_wrongly(self) -> None:
        """Someone mistakes the cluster, the name, the id or the address; or an old process speaks."""
        broker = self.known_broker()
        if broker is None:
            return
        member, value = self.pick(
            (
                ("clusterName", self.pick(self.world.clusters)),
                ("brokerName", self.pick(self.world.names)),
                ("brokerId", str(self.chance.randrange(4))),
                ("brokerAddr", self.pick(self.world.addrs)),
                ("brokerName", broker.name),
            )
        )
        request = Request(104, {**broker.fields(), member: value})
        self.add(Ask(self.pick(self.conns), request, f"unregister: other {member}"), broker)

    def old_process(self) -> None:
        """A new process of a broker registers before the old one says that it goes."""
        broker = self.known_broker()
        if broker is not None:
            new = dataclasses.replace(
                broker, conn=self.pick([conn for conn in self.conns if conn != broker.conn])
            )
            self.register(new, "register again: new process")
            self.add(Ask(broker.conn, Request(104, broker.fields()), "unregister: old process"), new)

    def close(self) -> None:
        """A connection breaks; those of its brokers that Java forgets to remove are unregistered after."""
        crowded = [conn for conn in self.conns if len(self.java.tables.closings(conn)) > 1]
        conn = self.pick(crowded if crowded and self.chance.random() < 0.5 else self.conns)
        choices = self.java.tables.closings(conn)
        if len(choices) > 1 and any(name is None for _, name in choices):
            return
        self.conns[self.conns.index(conn)] = self.fresh()
        self.add(Close(conn))
        if len(choices) > 1:
            self.unregister_all(
                [(cluster, name, addr) for (cluster, addr), name in choices if name is not None]
            )

    def expire(self) -> None:
        """A broker falls silent. Its address must be in no other group: which one Java finds depends on hashes."""
        broker = self.new_broker()
        groups = self.java.tables.groups.items()
        elsewhere = {addr for name, group in groups for addr in group.addrs.values() if name != broker.name}
        if broker.addr in elsewhere or any(addr == broker.addr for _, addr in self.java.tables.live):
            return
        broker.conn, broker.timeout = self.fresh(), "40"
        self.add(Expire(broker.conn, registration(broker)), broker)

    # everything else

    def heartbeat(self) -> None:
        """904, over any connection, sometimes for a broker that is not there."""
        broker = self.known_broker() or self.new_broker()
        fields = {**broker.fields(), "heartbeatTimeoutMills": "10000"}
        request = Request(904, fields, one_way=self.chance.random() < 0.5)
        self.add(Ask(self.pick((broker.conn, self.pick(self.conns))), request, "heartbeat"))

    def query_version(self) -> None:
        """322 with the version it has, another, or none."""
        broker = self.known_broker() or self.new_broker()
        version = dict(broker.version())
        version["counter"] += self.chance.choices((0, 1), (3, 1))[0]
        body = b"" if self.chance.random() < self.binary_share else str(version).replace("'", '"').encode()
        request = Request(322, broker.fields(), body, one_way=self.chance.random() < 0.1)
        self.add(Ask(self.pick((broker.conn, self.pick(self.conns))), request, "query version"))

    def perms(self) -> None:
        """205 or 327."""
        request = Request(
            self.pick((205, 205, 327)), {"brokerName": self.pick((*self.world.names, "nobody"))}
        )
        self.ask(request, "perms")

    def register_topic(self) -> None:
        """217 for known and unknown names."""
        known = list(self.java.tables.groups) or list(self.world.names)
        names = [
            self.pick(known),
            *self.chance.sample(self.world.names, self.chance.choices((0, 1, 2), (6, 2, 2))[0]),
        ]
        body = route_body({name: self.topic_config() for name in names})
        self.ask(Request(217, {"topic": self.pick(self.world.topics)}, body), "register topic")

    def delete_topic(self) -> None:
        """216, everywhere or in one cluster."""
        fields = {"topic": self.pick(self.world.topics)}
        if self.chance.random() < 0.6:
            fields["clusterName"] = self.pick((*self.world.clusters, ""))
        self.ask(Request(216, fields), "delete topic")

    def look_up(self) -> None:
        """105 in every manner."""
        fields = {"topic": self.pick((*self.world.topics, "unknown", ""))}
        if self.chance.random() < 0.4:
            fields["topic"] = self.pick(list(self.java.tables.topics) or self.world.topics)
            fields["__ZONE_MODE"] = self.pick(("true", "TRUE", "True", "false", "yes"))
            fields["__ZONE_NAME"] = self.pick(("zone-a", "ZONE-B", "zone-c", " ", ""))
        if self.chance.random() < 0.2:
            fields["acceptStandardJsonOnly"] = self.pick(("true", "false", "True"))
        version = self.pick((317, 333, 373, 400, 401, 413, 513, 900))
        self.ask(
            Request(105, fields, version=version, binary=self.chance.random() < self.binary_share), "look up"
        )

    def lists(self) -> None:
        """106, 901 and the topic lists."""
        code = self.pick((106, 206, 224, 304, 311, 312, 313, 901))
        fields = {
            224: {"cluster": self.pick((*self.world.clusters, "unknown"))},
            901: {"clusterName": "any", "brokerName": self.pick((*self.world.names, "unknown"))},
        }
        self.ask(Request(code, fields.get(code, {}), version=self.pick((373, 513))), "lists")

    def put_kv(self) -> None:
        """100; the order configuration of a topic half of the time."""
        fields = {
            "namespace": self.pick(KV_NAMESPACES),
            "key": self.pick(self.world.topics),
            "value": self.pick("xyz"),
        }
        if self.chance.random() < 0.1:
            fields["value"] = self.pick(("", "b0:4;b1:4", 'ü"\\\n'))
        self.ask(Request(100, fields), "put kv")

    def other_kv(self) -> None:
        """101, 102, 219."""
        fields = {
            "namespace": self.pick((*KV_NAMESPACES, "unknown")),
            "key": self.pick((*self.world.topics, "none")),
        }
        self.ask(Request(self.pick((101, 102, 219)), fields), "kv")

    def switch(self) -> None:
        """318: the server behaves otherwise from now on."""
        name = self.pick((*SWITCHES, "deleteTopicWithBrokerRegistration"))
        value = self.chance.random() < 0.8 if SWITCHES[name] else self.chance.random() < 0.5
        self.settings({name: value})

    def settings(self, values: dict[str, bool]) -> None:
        """Send a 318."""
        text = "".join(f"{name}={str(value).lower()}\n" for name, value in values.items())
        self.ask(Request(318, {}, text.encode()), "switch")

    def malformed(self) -> None:
        """Something that no peer of good faith sends."""
        broker = self.known_broker() or self.new_broker()
        self.brokers.setdefault((broker.cluster, broker.addr), broker)
        label, request = malformed(self.chance, dataclasses.replace(broker), self.world)
        self.add(Ask(broker.conn, request, f"malformed: {label}"), broker)

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
            fields = {"clusterName": cluster, "brokerName": name, "brokerAddr": addr, "brokerId": "0"}
            self.add(Ask(conn, Request(104, fields), "unregister: heal"))
        self.add(Close(conn))

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

    def pick(self, values):
        """Choose one."""
        return self.chance.choice(tuple(values))

    def some_topics(self) -> list[str]:
        """Choose one or two topics."""
        return self.chance.sample(self.world.topics, self.chance.randrange(1, 3))

    def known_broker(self) -> Broker | None:
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
            step = dataclasses.replace(step, conn=self.pick(self.conns))
            if broker is not None:
                broker.conn = step.conn
        before = self.ours.tables.differed.copy()
        self.steps.append(step)
        for model in (self.java, self.ours):
            take(model, step, len(self.steps))
        if broker is not None and _lasting(self.ours.tables.differed - before):
            self.heals.append((len(self.steps) + self.chance.randrange(HEAL_AFTER), broker))


class SharedGenerator(Generator):
    """What 4.x and 5.x name servers do alike: well-behaved brokers of the 4.x line."""

    binary_share = 0.0

    def make(self, length: int) -> list[Step]:
        """Return the steps; all brokers write one form, for the compressed one has no flags."""
        self.form = self.chance.choice(("json4", "zip4"))
        return super().make(length)

    def weights(self) -> dict[Callable[[], None], int]:
        """Return how often each operation is chosen."""
        return {
            self.register_new: 14, self.register_again: 26, self.unregister: 8, self.query_version: 5, self.wipe: 5,
            self.delete_topic: 4, self.look_up: 10, self.lists: 6, self.put_kv: 3, self.other_kv: 3, self.close: 4,
        }  # fmt: skip

    def settings(self, values: dict[str, bool]) -> None:
        """4.x has none of the switches but one."""
        self.ask(
            Request(318, {}, b"orderMessageEnable=" + str(values["orderMessageEnable"]).lower().encode()),
            "switch",
        )

    def new_broker(self) -> Broker:
        """Return a broker with an address, a name and an id of its own, always in the same cluster."""
        index = self.chance.randrange(len(self.world.addrs))
        broker = Broker(
            cluster=self.world.clusters[index // 2 % 3],
            name=self.world.names[index // 2],
            broker_id=index % 2,
            addr=self.world.addrs[index],
            conn=self.pick(self.conns),
            form=self.form,
        )
        self.change_topics(broker)
        return broker

    def register_new(self) -> None:
        """Only one that is not there."""
        broker = self.new_broker()
        if (broker.cluster, broker.addr) not in self.java.tables.live:
            self.register(broker)

    def register_again(self) -> None:
        """The same again, or with other topics under another version."""
        key = self.pick([*self.java.tables.live, None])
        if key is not None:
            broker = dataclasses.replace(self.brokers[key])
            if self.chance.random() < 0.5:
                self.change_topics(broker)
            self.register(broker, "register again")

    def change_topics(self, broker: Broker) -> None:
        """Never exactly one topic, and the same flag for a topic everywhere: what comes first depends on hashes."""
        broker.counter = len(self.steps) + 2
        flags = {topic: index % 4 * (self.form == "json4") for index, topic in enumerate(self.world.topics)}
        topics = self.chance.sample(self.world.topics, self.chance.randrange(2, 6))
        broker.topics = {t: dataclasses.replace(self.topic_config(), flag=flags[t]) for t in topics}
        broker.filters = ["10.9.9.9:1"] * (self.chance.random() < 0.2)

    def known_broker(self) -> Broker | None:
        """Choose one that is live."""
        key = self.pick([*self.java.tables.live, None])
        return None if key is None else self.brokers[key]

    def wipe(self) -> None:
        """205."""
        self.ask(Request(205, {"brokerName": self.pick(self.world.names)}), "perms")

    def delete_topic(self) -> None:
        """216; the brokers then register under a new version, or 4.x would not bring the topic back."""
        self.ask(Request(216, {"topic": self.pick(self.world.topics)}), "delete topic")
        for key in list(self.java.tables.live):
            broker = dataclasses.replace(self.brokers[key], counter=len(self.steps) + 2)
            self.register(broker, "register again")

    def look_up(self) -> None:
        """105 as old clients ask."""
        version = self.pick((317, 333, 373))
        self.ask(
            Request(105, {"topic": self.pick((*self.world.topics, "unknown"))}, version=version), "look up"
        )

    def lists(self) -> None:
        """106 and the topic lists."""
        code = self.pick((106, 206, 224, 304, 311, 312, 313))
        fields = {"cluster": self.pick(self.world.clusters)} if code == 224 else {}
        self.ask(Request(code, fields, version=373), "lists")

    def close(self) -> None:
        """Only where at most one broker is behind the connection."""
        conn = self.pick(self.conns)
        if len(self.java.tables.closings(conn)) <= 1:
            self.conns[self.conns.index(conn)] = self.fresh()
            self.add(Close(conn))


def take(model: JavaModel, step: Step, now_ms: int) -> None:
    """Have a model take a step."""
    if isinstance(step, Close):
        model.tables.close(step.conn)
        return
    model.ask(step.request, step.conn, now_ms)
    if isinstance(step, Expire):
        expire(model, step, now_ms)


def expire(model: JavaModel, step: Expire, now_ms: int) -> None:
    """Have a model do what follows a registration with a short timeout: expiry closes the connection."""
    model.tables.scan(now_ms + 10_000)
    model.tables.close(step.conn)


_AGAIN = {"same": 42, "version": 20, "rows": 3, "header": 8, "filters": 4, "earlier": 10, "conn": 6, "id": 7}
_FREE = {"orderMessageEnable", "supportActingMaster", "deleteTopicWithBrokerRegistration"}
_ANSWERS_ONLY = {"quoted_keys"}


def _lasting(differed) -> bool:
    return any(differed[name] for name in differed if name not in _ANSWERS_ONLY)
