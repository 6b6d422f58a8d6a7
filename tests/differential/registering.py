"""The brokers of a sequence, and what they say of themselves."""

import dataclasses

from tests.differential.bodies import Broker, TopicConfig, registration
from tests.differential.maker import Maker
from tests.differential.steps import Ask

__all__ = ["Registering"]

PERMS = (6, 6, 6, 6, 4, 2, 7, 0, 3)
ZONES = (None, None, None, "zone-a", "Zone-B")
AGAIN = {"same": 42, "version": 20, "rows": 3, "header": 8, "filters": 4, "earlier": 10, "conn": 6, "id": 7}
"""How a broker that is there registers again."""


class Registering(Maker):
    """Operations that register."""

    def register_new(self) -> None:
        """Some broker, often one that collides with another."""
        broker = self.new_broker()
        if self.chance.random() < 0.8:
            taken = {addr for _, addr in self.java.tables.live}
            broker.addr = self.pick(
                [addr for addr in self.world.addrs if addr not in taken] or self.world.addrs
            )
            group = self.java.tables.groups.get(broker.name)
            free = [broker_id for broker_id in range(3) if group is None or broker_id not in group.addrs]
            if free and self.chance.random() < 0.5:
                broker.broker_id = self.pick(free)
        self.register(broker)

    def new_broker(self) -> Broker:
        """Return a broker with random properties."""
        form = self.chance.choices(("json4", "json5", "zip4", "zip5", "old"), (20, 40, 10, 25, 5))[0]
        broker = Broker(
            cluster=self.pick(self.world.clusters[:2]),
            name=self.pick(self.world.names),
            broker_id=self.chance.choices((0, 1, 2, -1), (50, 30, 20, 3))[0],
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
        self.sent.setdefault((broker.cluster, broker.addr), []).append(broker)
        request = registration(
            broker, crc=self.chance.random() < 0.6, binary=self.chance.random() < self.binary_share
        )
        self.add(Ask(broker.conn, request, label), broker)

    def register_again(self) -> None:
        """A broker that is there says the same again, or nearly so."""
        broker = self.registered_broker()
        if broker is not None:
            kind = self.chance.choices(list(AGAIN), list(AGAIN.values()))[0]
            self.register(self.changed(dataclasses.replace(broker), kind), f"register again: {kind}")

    def changed(self, broker: Broker, kind: str) -> Broker:
        """Return a broker with something else to say."""
        if kind == "earlier":
            earlier: Broker = self.pick(self.sent.get((broker.cluster, broker.addr), [broker])[-4:])
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
        victim = self.registered_broker()
        if victim is None:
            return
        addr = self.pick([addr for addr in self.world.addrs if addr != victim.addr])
        taker = dataclasses.replace(victim, addr=addr, conn=self.pick(self.conns))
        taker.state = max(0, victim.state + self.pick((-1, 0, 1)))
        self.bump(taker)
        self.register(taker, "register: take over")

    def move(self) -> None:
        """An address registers under another name."""
        broker = self.registered_broker()
        if broker is not None:
            broker = dataclasses.replace(broker, name=self.pick(self.world.names))
            broker.mappings = {}
            self.bump(broker)
            self.register(broker, "register: move")

    def split(self) -> None:
        """A registration in chunks, all of one version."""
        broker = self.registered_broker()
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
