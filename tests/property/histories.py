"""Random runs of a name server, from any source of chance: hypothesis's, or `random.Random(seed)`."""

from collections.abc import Callable, Sequence
from random import Random

from tests.differential.bodies import FORMS, Broker, TopicConfig, registration, route_body
from tests.property.journalled import JournalledServer
from tests.support.java_model.values import Request

__all__ = ["CLUSTERS", "NAMES", "TOPICS", "random_history"]

CLUSTERS, NAMES, ADDRS = ("c0", "c1"), ("b0", "b1"), ("a0:1", "a1:1", "a2:1")
TOPICS = ("T0", "T1", 'T"2\\\n', "rmq_sys_SYNC_BROKER_MEMBER_x")
CONNECTIONS = 3


def random_history(
    chance: Random,
    length: int,
    namesrv: str = "ns_9876",
    *,
    clock_jumps: bool = False,
    clusters: Sequence[str] = CLUSTERS,
    make: Callable[[str], JournalledServer] = JournalledServer,
) -> JournalledServer:
    """Live through that many happenings, each at an instant of its own unless the wall clock jumps."""
    run = _RandomRun(make(namesrv), chance, clusters)
    for _ in range(length):
        run.server.passed(chance.choice((1, 7, 1_000, 60_000)))
        if clock_jumps and chance.random() < 0.1:
            run.server.ts += chance.choice((-200_000, -5_000, -1_000, 100_000))
        chance.choice(_HAPPENINGS)(run)
    return run.server


class _RandomRun:
    def __init__(self, server: JournalledServer, chance: Random, clusters: Sequence[str]) -> None:
        self.server = server
        self.clusters = clusters
        self.chance = chance
        self.seen_brokers: list[Broker] = []
        self.connections = list(range(1, CONNECTIONS + 1))

    def ask(self, request: Request, connection: int | None = None) -> None:
        conn = self.chance.choice(self.connections) if connection is None else connection
        self.server.server.begin(request, conn, self.server.up_ms, lambda answer: None)

    def register(self) -> None:
        """103: a new face, or what was said before with something changed."""
        chance = self.chance
        if self.seen_brokers and chance.random() < 0.5:
            broker = chance.choice(self.seen_brokers)
            if chance.random() < 0.5:
                broker.counter += 1
            if chance.random() < 0.5:
                broker.topics = self.topics()
        else:
            broker = self.broker()
            self.seen_brokers.append(broker)
        connection = broker.conn if broker.conn in self.connections else None
        self.ask(registration(broker), connection)
        if chance.random() < 0.7:
            self.run_all()

    def broker(self) -> Broker:
        chance = self.chance
        broker = Broker(
            cluster=chance.choice(self.clusters), name=chance.choice(NAMES), broker_id=chance.choice((0, 1, 2)),
            addr=chance.choice(ADDRS), conn=chance.choice(self.connections), form=chance.choice(FORMS),
            topics=self.topics(), filters=chance.choice(([], ["f:1"])),
        )  # fmt: skip
        if broker.form in {"json5", "zip5"}:
            broker.acting = chance.choice((True, False, None))
            broker.zone = chance.choice((None, "z"))
            broker.timeout = chance.choice((None, "50"))
            broker.state = chance.choice((0, 1))
            mapped = chance.choice((*TOPICS[:2], None))
            if mapped is not None:
                broker.mappings = {mapped: {"bname": broker.name, "topic": mapped, "epoch": 2**60}}
        return broker

    def topics(self) -> dict[str, TopicConfig]:
        names = [topic for topic in TOPICS if self.chance.random() < 0.6]
        return {t: TopicConfig(self.chance.choice((4, 8)), perm=self.chance.choice((6, 4, 7))) for t in names}

    def unregister(self) -> None:
        """104."""
        if self.seen_brokers:
            broker = self.chance.choice(self.seen_brokers)
            self.ask(Request(104, broker.fields()), broker.conn)

    def hear(self) -> None:
        """322 and 904."""
        if self.seen_brokers:
            broker = self.chance.choice(self.seen_brokers)
            self.ask(Request(self.chance.choice((322, 904)), broker.fields(), b"{}"), broker.conn)

    def change_perms(self) -> None:
        """205 and 327."""
        self.ask(Request(self.chance.choice((205, 327)), {"brokerName": self.chance.choice(NAMES)}))

    def delete_topic(self) -> None:
        """216."""
        self.ask(Request(216, {"topic": self.chance.choice(TOPICS)}))

    def register_topic(self) -> None:
        """217."""
        queues = {name: TopicConfig(2) for name in NAMES if self.chance.random() < 0.7}
        self.ask(Request(217, {"topic": self.chance.choice(TOPICS)}, route_body(queues)))

    def change_kv(self) -> None:
        """100 and 102."""
        key = {
            "namespace": self.chance.choice(("ORDER_TOPIC_CONFIG", "n")),
            "key": self.chance.choice(TOPICS),
        }
        value = self.chance.choice((None, "", "b0:4"))
        self.ask(Request(102, key) if value is None else Request(100, {**key, "value": value}))

    def reconfigure(self) -> None:
        """318."""
        name = self.chance.choice(("supportActingMaster", "deleteTopicWithBrokerRegistration"))
        self.run_all()
        self.ask(Request(318, {}, f"{name}={self.chance.choice(('true', 'false'))}\n".encode()))

    def close(self) -> None:
        """A connection breaks, perhaps in the middle of a registration over it."""
        at = self.chance.randrange(CONNECTIONS)
        conn, self.connections[at] = self.connections[at], max(self.connections) + 1
        self.server.server.close(conn, self.server.up_ms)

    def expire(self) -> None:
        """Time passes; what is overdue goes."""
        self.server.passed(self.chance.choice((60, 120_001)))
        self.server.server.scan(self.server.up_ms)

    def turn(self) -> None:
        """One slice of a registration under way."""
        self.server.server.turn(self.server.up_ms)

    def run_all(self) -> None:
        """All that is under way."""
        self.server.server.run_all(self.server.up_ms)

    def begin_checkpoint(self) -> None:
        """Take the state; its rows are written later, with other changes in between."""
        self.server.begin_checkpoint("interval")

    def go_on_with_checkpoint(self) -> None:
        """Some of its rows."""
        self.server.go_on_with_checkpoint(self.chance.choice((1, 3, 1_000)))

    def drop(self) -> None:
        """The queue is full until the next checkpoint."""
        self.server.dropping = True

    def heal(self) -> None:
        """A checkpoint after a drop."""
        if self.server.dropping:
            self.server.begin_checkpoint("recovery")
            self.server.go_on_with_checkpoint(1_000)

    def alive(self) -> None:
        """A record that is no state."""
        self.server.alive()

    def restart(self) -> None:
        """Stop in an orderly way, or die with the newest lines; start again after a while, with the routes or empty."""
        if self.chance.random() < 0.5:
            self.server.stop()
        else:
            self.server.crash(self.chance.randrange(200))
        before = self.server.server.state.tables
        self.server.passed(self.chance.choice((1, 90_000)))
        self.server.start()
        if self.chance.random() < 0.5:
            self.server.passed(1)
            self.server.server.restore(before, self.chance.choice((0, 30, 100_000)), self.server.up_ms)
        self.connections = [conn + CONNECTIONS for conn in self.connections]

    def lose(self) -> None:
        """A segment of a finished boot is gone, or was never shipped."""
        begin = self.chance.choice((0, self.chance.randrange(200)))
        self.server.lose(begin, begin + self.chance.randrange(1, 30))


_HAPPENINGS = (
    *[_RandomRun.register] * 6, *[_RandomRun.turn] * 2, *[_RandomRun.run_all] * 2, _RandomRun.unregister, _RandomRun.hear,
    _RandomRun.change_perms, _RandomRun.delete_topic, _RandomRun.register_topic, _RandomRun.change_kv, _RandomRun.reconfigure,
    _RandomRun.close, _RandomRun.expire, _RandomRun.begin_checkpoint, *[_RandomRun.go_on_with_checkpoint] * 3, _RandomRun.drop, _RandomRun.heal,
    _RandomRun.alive, _RandomRun.restart, _RandomRun.lose,
)  # fmt: skip
