"""Days whose incidents are known: a day with five of them, and a fleet of 122 brokers that loses a zone."""

import random
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker, History, NameServer
from tests.support.pipeline.duck import Duck

__all__ = ["Day", "day_of_fleet", "day_with_five_incidents", "write_day"]

MINUTE = 60_000
SILENCE = 121_000
"""A broker is removed so long after its last registration."""


class Day:
    """Name servers and brokers of one day; methods do something to all name servers, nearly at once.

    Args:
        name_servers: how many there are.
        name: their names begin with it.
    """

    def __init__(self, name_servers: int, name: str = "ns") -> None:
        self.history = History("day")
        self.servers = [
            NameServer(f"{name}-{number}_9876", random.Random(number), self.history)
            for number in range(1, name_servers + 1)
        ]
        for server in self.servers:
            server.offset = 0
            server.start(MARCH)
        self._due: list[tuple[int, int, Callable[[], None]]] = []

    def at(self, ms: int, do: Callable[[int], None]) -> None:
        """Do something so many ms after the day began."""
        now = MARCH + ms
        self._due.append((now, len(self._due), lambda: do(now)))

    def register(self, ms: int, broker: Broker) -> None:
        for number, server in enumerate(self.servers):
            self.at(ms + 3 * number, partial(_register, server, broker))

    def add_topic(self, ms: int, broker: Broker, topic: str) -> None:
        """The broker has one topic more, and registers again."""
        self.at(ms, lambda _now: broker.topics.update({topic: (4, 4, READ | WRITE, 0)}))
        self.register(ms + 1, broker)

    def lose(self, ms: int, brokers: Iterable[Broker], cause: str, idle: int = 700) -> None:
        for count, broker in enumerate(brokers):
            for number, server in enumerate(self.servers):
                self.at(
                    ms + 37 * count + 400 * number,
                    partial(_lose, server, broker, cause, idle),
                )

    def ask_in_vain(self, ms: int, topic: str, count: int) -> None:
        """Clients ask one name server for a topic that has no route."""
        minute = (MARCH + ms) // MINUTE * MINUTE
        row = {"kind": "unknown_topic_minute", "minute": minute, "language": "JAVA", "client_version": 493}
        self.at(ms, lambda now: self.servers[0].write(now, [{**row, "topic": topic, "count": count}]))

    def records(self) -> list[dict[str, object]]:
        """All that the journals hold: an alive record each minute, a checkpoint every six hours."""
        for minute in range(1, 24 * 60):
            for server in self.servers:
                self.at(minute * MINUTE, partial(_alive, server))
        for _, _, do in sorted(self._due, key=lambda each: each[:2]):
            do()
        return [record for records in self.history.records.values() for record in records]


def _register(server: NameServer, broker: Broker, now: int) -> None:
    server.register(now, broker)


def _lose(server: NameServer, broker: Broker, cause: str, idle: int, now: int) -> None:
    server.lose(now, broker, cause, idle)


def _set_perm(server: NameServer, name: str, write: bool, now: int) -> None:
    server.set_perm(now, name, write=write)


def _alive(server: NameServer, now: int) -> None:
    if not server.is_up:
        return
    if (now - MARCH) % (6 * HOUR) == 0:
        server.begin_checkpoint(now, "interval")
        server.write_checkpoint(now)
    server.write(now, [{"kind": "server_alive", "connections": 3}])


class Part(NamedTuple):
    """What a broker of the fleet is made of."""

    name: str
    broker_id: int
    addr: str


def _broker(part: Part, topics: Iterable[str]) -> Broker:
    specs = dict.fromkeys(topics, (8, 8, READ | WRITE, 0))
    return Broker("cluster-1", part.name, part.broker_id, part.addr, False, None, specs, {})


def day_with_five_incidents() -> Day:
    """Two name servers, four brokers. What cost most: a machine, a wiped permission, three brokers at once, a name
    server, and a name server that one broker did not reach."""
    day = Day(2)
    topics = {
        "broker-a": ["orders", "refunds"],
        "broker-b": ["payments"],
        "broker-c": ["shipping"],
        "broker-d": ["mail"],
    }
    brokers = [
        _broker(Part(name, 0, f"10.0.0.{number}:10911"), some)
        for number, (name, some) in enumerate(topics.items(), 1)
    ]
    a, b, c, d = brokers
    for number, broker in enumerate(brokers):
        day.register(1_000 + 40 * number, broker)
    # 1. 03:12: the machine of broker-a goes silent for 17 minutes.
    day.lose(3 * HOUR + 12 * MINUTE, [a], "expired", SILENCE)
    for minute in range(13, 29):
        day.ask_in_vain(3 * HOUR + minute * MINUTE, "orders", 120)
        day.ask_in_vain(3 * HOUR + minute * MINUTE, "refunds", 7)
    day.register(3 * HOUR + 29 * MINUTE, a)
    # 2. 09:30: somebody wipes the permission to write to broker-b, and gives it back.
    for server in day.servers:
        day.at(9 * HOUR + 30 * MINUTE, partial(_set_perm, server, "broker-b", False))
        day.at(9 * HOUR + 50 * MINUTE, partial(_set_perm, server, "broker-b", True))
    for minute in range(31, 50):
        day.ask_in_vain(9 * HOUR + minute * MINUTE, "payments", 12)
    # 3. 14:00: a switch is replaced: three brokers lose their connections.
    day.lose(14 * HOUR, [b, c, d], "channel_closed")
    day.ask_in_vain(14 * HOUR + MINUTE, "shipping", 9)
    for broker in (b, c, d):
        day.register(14 * HOUR + 4 * MINUTE, broker)
    # 4. 18:00: one name server does not see broker-d for half an hour.
    second = day.servers[1]
    day.at(18 * HOUR, partial(_lose, second, d, "expired", SILENCE))
    day.at(18 * HOUR + 30 * MINUTE, partial(_register, second, d))
    # 5. 21:00: a name server is stopped for ten minutes.
    day.at(21 * HOUR, second.stop)
    day.at(21 * HOUR + 10 * MINUTE, second.start)
    for broker in brokers:
        day.at(21 * HOUR + 10 * MINUTE + 2_000, partial(_register, second, broker))
    return day


def day_of_fleet(brokers: int = 122) -> Day:
    """Three name servers and many brokers, of which a third goes at once, two flap, and many change topics."""
    day = Day(3)
    chance = random.Random(7)
    fleet = [
        _broker(
            Part(f"broker-{number // 2:03}", number % 2, f"10.1.{number // 200}.{number % 200}:10911"),
            [f"topic-{number // 2 * 7 + each:05}" for each in range(6)],
        )
        for number in range(brokers)
    ]
    for number, broker in enumerate(fleet):
        day.register(1_000 + 35 * number, broker)
    day.lose(5 * HOUR, fleet[: brokers // 3], "channel_closed")
    for number, broker in enumerate(fleet[: brokers // 3]):
        day.register(5 * HOUR + 6 * MINUTE + 900 * number, broker)
    for hour in range(1, 24):
        for flapping in (fleet[-1], fleet[-4]):
            day.lose(hour * HOUR + 11 * MINUTE, [flapping], "channel_closed")
            day.register(hour * HOUR + 11 * MINUTE + 50_000, flapping)
        for _ in range(4):
            topic = f"added-{chance.randrange(10**6):06}"
            day.add_topic(hour * HOUR + chance.randrange(HOUR), chance.choice(fleet[::2]), topic)
    return day


def write_day(day: Day, folder: Path) -> str:
    """Make a warehouse of Parquet files of a day; returns its URI."""
    duck = Duck()
    make_gold(duck, duck.load(day.records()))
    return duck.write_warehouse(folder)
