"""Sequences of requests that know the state, so that most succeed and many collide."""

import dataclasses
import random
from collections.abc import Callable

from tests.differential.bodies import registration, route_body
from tests.differential.malformed import malformed
from tests.differential.registering import Registering
from tests.differential.steps import KV_NAMESPACES, Ask, Close, Expire, Step, World
from tests.support.java_model.server import SWITCHES
from tests.support.java_model.values import Request

__all__ = ["Generator", "generate"]


def generate(seed: str, tag: str, length: int) -> list[Step]:
    """Return a sequence of about `length` requests, the same for the same seed."""
    return Generator(random.Random(seed), World.of(tag)).make(length)


class Generator(Registering):
    """Everything that the 5.x line knows."""

    def weights(self) -> dict[Callable[[], None], int]:
        """Return how often each operation is chosen."""
        return {
            self.register_new: 14, self.register_again: 28, self.take_over: 2, self.move: 1, self.split: 2,
            self.unregister: 6, self.unregister_wrongly: 2, self.old_process: 1, self.lose_master: 3, self.heartbeat: 4, self.query_version: 5, self.perms: 6,
            self.register_topic: 4, self.delete_topic: 4, self.look_up: 10, self.lists: 4, self.put_kv: 3,
            self.other_kv: 3, self.close: 4, self.expire: 1, self.switch: 2, self.malformed: 4,
        }  # fmt: skip

    # leaving

    def unregister(self) -> None:
        """A broker goes."""
        broker = self.registered_broker()
        if broker is not None:
            conn = broker.conn if self.chance.random() < 0.8 else self.fresh()
            self.add(Ask(conn, Request(104, broker.fields()), "unregister"), broker)

    def unregister_wrongly(self) -> None:
        """Someone mistakes the cluster, the name, the id or the address; or an old process speaks."""
        broker = self.registered_broker()
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
        broker = self.registered_broker()
        if broker is not None:
            new = dataclasses.replace(
                broker, conn=self.pick([conn for conn in self.conns if conn != broker.conn])
            )
            self.register(new, "register again: new process")
            self.add(Ask(broker.conn, Request(104, broker.fields()), "unregister: old process"), new)

    def lose_master(self) -> None:
        """The master goes from a group that has an id below 0: its permissions stay."""
        names = [name for name in self.world.names if name not in self.java.tables.groups]
        taken = {addr for _, addr in self.java.tables.live}
        free = [addr for addr in self.world.addrs if addr not in taken]
        if not names or len(free) < 3:
            return
        brokers = [
            dataclasses.replace(
                self.new_broker(), cluster=self.world.clusters[0], name=names[0], form="json5", addr=addr,
                broker_id=broker_id, acting=acting,
            )
            for addr, (broker_id, acting) in zip(free, ((0, True), (-1, False), (2, True)), strict=False)
        ]  # fmt: skip
        for broker in brokers:
            broker.mappings = {}
            self.register(broker, "register: negative id")
        self.add(Ask(brokers[0].conn, Request(104, brokers[0].fields()), "unregister"), brokers[0])

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
        broker = self.registered_broker() or self.new_broker()
        fields = {**broker.fields(), "heartbeatTimeoutMills": "10000"}
        request = Request(904, fields, one_way=self.chance.random() < 0.5)
        self.add(Ask(self.pick((broker.conn, self.pick(self.conns))), request, "heartbeat"))

    def query_version(self) -> None:
        """322 with the version it has, another, or none."""
        broker = self.registered_broker() or self.new_broker()
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
        """217 for names with a group and others."""
        names = list(self.java.tables.groups) or list(self.world.names)
        names = [
            self.pick(names),
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

    def malformed(self) -> None:
        """Something that no well-behaved peer sends."""
        broker = self.registered_broker() or self.new_broker()
        self.brokers.setdefault((broker.cluster, broker.addr), broker)
        label, request = malformed(self.chance, dataclasses.replace(broker), self.world)
        self.add(Ask(broker.conn, request, f"malformed: {label}"), broker)
