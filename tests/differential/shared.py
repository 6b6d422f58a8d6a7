"""Sequences of what 4.x and 5.x name servers do alike."""

import dataclasses
import random
from collections.abc import Callable

from tests.differential.bodies import Broker
from tests.differential.generator import Generator
from tests.differential.steps import Close, Step, World
from tests.support.java_model.values import Request

__all__ = ["SharedGenerator", "generate_shared"]


def generate_shared(seed: str, tag: str, length: int) -> list[Step]:
    """Return a sequence of about `length` requests, the same for the same seed."""
    return SharedGenerator(random.Random(seed), World.of(tag)).make(length)


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

    def registered_broker(self) -> Broker | None:
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
