"""Three histories that were written manually, and the incidents that the table and the report have of them."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker, NameServer, Record
from tests.support.pipeline.days import MINUTE, SILENCE, Day
from tests.support.pipeline.duck import Duck

__all__ = ["WRITTEN_HISTORIES", "Written", "assert_written", "incidents_in", "reported"]

SECOND = 1_000

COLUMNS = (
    "kind", "subject", "begins", "lasts", "cause", "broker_names", "topics", "first_topic", "name_servers", "lookups",
    "topic_ms",
)  # fmt: skip
"""What is compared of the table: `begins` is ms of the day, `lasts` is None if it is open."""


class Written(NamedTuple):
    """A history, and what follows from it."""

    name: str
    records: Sequence[Record]
    incidents: Sequence[tuple[Any, ...]]
    """Rows of the table, by `COLUMNS`, in the order of time."""
    report: Sequence[tuple[str, str]]
    """What happened and why, in the order of the report: what cost most comes first."""


def incidents_in(rows: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows of the table `incident` as `Written.incidents` has them."""
    found = []
    for row in sorted(rows, key=lambda row: (row["from_ts"], row["kind"], row["subject"])):
        lasts = None if row["to_ts"] is None else row["to_ts"] - row["from_ts"]
        shown = {**row, "begins": row["from_ts"] - MARCH, "lasts": lasts}
        found.append(tuple(shown[name] for name in COLUMNS))
    return found


def reported(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Rows of the report's section as `Written.report` has them."""
    return [(row["what"], row["why"]) for row in rows]


def _broker(name: str, number: int, topics: Iterable[str], *, slave: bool = False) -> Broker:
    specs = dict.fromkeys(topics, (8, 8, READ | WRITE, 0))
    addr = f"10.0.{int(slave)}.{number}:10911"
    return Broker(f"cluster-{number // 5}", name, int(slave), addr, slave, None, specs, {})


def _asks(day: Day, server: NameServer, ms: int, topic: str, count: int) -> None:
    """Clients ask a name server in vain for a topic, within the minute of `ms`."""
    row = {"kind": "unknown_topic_minute", "minute": (MARCH + ms) // MINUTE * MINUTE, "language": "JAVA"}
    row |= {"client_version": 493, "topic": topic, "count": count}
    day.at(ms + MINUTE, lambda now: server.write(now, [row]))


def _registers(day: Day, server: NameServer, ms: int, broker: Broker) -> None:
    day.at(ms, partial(_register, server, broker))


def _register(server: NameServer, broker: Broker, now: int) -> None:
    server.register(now, broker)


def _loses(day: Day, server: NameServer, ms: int, broker: Broker, cause: str) -> None:
    idle = SILENCE if cause == "expired" else 700
    day.at(ms, lambda now: server.lose(now, broker, cause, idle))


def _may_write(day: Day, server: NameServer, ms: int, name: str, *, write: bool) -> None:
    day.at(ms, lambda now: server.set_perm(now, name, write=write))


def _deletes(day: Day, server: NameServer, ms: int, name: str, topic: str) -> None:
    day.at(ms, lambda now: server.set_topic(now, name, topic, None))


def _without(day: Day, ms: int, broker: Broker, topic: str) -> None:
    """The broker has one topic less."""

    def remove(_now: int) -> None:
        del broker.topics[topic]

    day.at(ms, remove)


def _of_rows_that_broke() -> Written:
    """A broker is killed, and a moment later another one makes its topic read-only. A topic is deleted, and clients
    go on asking for it. At the start a slave comes before its master, by which five topics are read-only for 6 ms."""
    day = Day(2, "rows")
    one, two = day.servers
    a, b, c = (
        _broker("broker-a", 1, ["A"]),
        _broker("broker-b", 2, ["B"]),
        _broker("broker-c", 3, ["C", "old"]),
    )
    master = _broker("broker-d", 4, [f"D{number}" for number in range(5)])
    slave = _broker("broker-d", 4, master.topics, slave=True)
    day.register(SECOND, slave)
    day.register(SECOND + 6, master)
    for broker in (a, b, c):
        day.register(2 * SECOND, broker)
    for server in (one, two):
        # Clients that start before the brokers: they asked before there was anything to lose.
        _asks(day, server, 30 * SECOND, "D1", 400)
    day.lose(10 * HOUR, [a], "channel_closed")
    _asks(day, one, 10 * HOUR + MINUTE, "A", 20)
    day.at(10 * HOUR + 5 * SECOND, lambda _now: b.topics.update({"B": (8, 8, READ, 0)}))
    day.register(10 * HOUR + 5 * SECOND + 1, b)
    day.register(10 * HOUR + 20 * MINUTE, a)
    day.at(10 * HOUR + 30 * MINUTE, lambda _now: b.topics.update({"B": (8, 8, READ | WRITE, 0)}))
    day.register(10 * HOUR + 30 * MINUTE + 1, b)
    _without(day, 12 * HOUR, c, "old")
    _deletes(day, one, 12 * HOUR + 1, "broker-c", "old")
    _deletes(day, two, 12 * HOUR + 9, "broker-c", "old")
    for minute in (0, 1, 5):
        _asks(day, two, 12 * HOUR + minute * MINUTE, "old", 3)
    return Written(
        "rows that broke",
        day.records(),
        [
            ("broker_away", "broker-a", 10 * HOUR + 400, 20 * MINUTE - 400, "channel_closed", ["broker-a"], 1, "A", [],
             20, 20 * MINUTE - 400),
            ("topic_unwritable", "B", 10 * HOUR + 5_004, 30 * MINUTE - 5_003, "register_broker", ["broker-b"], 1, "B",
             ["rows-1_9876", "rows-2_9876"], 0, 30 * MINUTE - 5_003),
            ("topic_deleted", "old", 12 * HOUR + 9, 6 * MINUTE - 9, "delete_topic", ["broker-c"], 1, "old",
             ["rows-1_9876", "rows-2_9876"], 9, 0),
        ],
        [
            ("broker-a away", "connection closed"),
            ("B could not be written to", "changed by its broker broker-b"),
            ("old deleted, and clients went on asking for it", "topic deleted, asked by 10.9.9.9:55556"),
        ],
    )  # fmt: skip


def _of_name_servers_that_differ() -> Written:
    """What one of two name servers does not know, or still believes; and one that is stopped takes along what it alone
    had."""
    day = Day(2, "view")
    one, two = day.servers
    e, f, g = (_broker(f"broker-{name}", number, [name.upper()]) for number, name in enumerate("efg", 5))
    g.topics["only"] = (8, 8, READ | WRITE, 0)
    for broker in (f, g):
        day.register(SECOND, broker)
    # 08:00 A new broker: one of them hears of it half an hour later.
    _registers(day, one, 8 * HOUR, e)
    _registers(day, two, 8 * HOUR + 30 * MINUTE, e)
    _asks(day, two, 8 * HOUR + 10 * MINUTE, "E", 7)
    # 09:00 A broker dies: one of them sees its connection close, the other waits for its next sign of life.
    _loses(day, one, 9 * HOUR, f, "channel_closed")
    _loses(day, two, 9 * HOUR + SILENCE, f, "expired")
    day.register(9 * HOUR + 10 * MINUTE, f)
    # 11:00 Somebody wipes a permission at one of them, for five minutes.
    _may_write(day, one, 11 * HOUR, "broker-e", write=False)
    _may_write(day, one, 11 * HOUR + 5 * MINUTE, "broker-e", write=True)
    # 12:50 A topic is deleted at one of them; ten minutes later the other one is stopped.
    _deletes(day, one, 12 * HOUR + 50 * MINUTE, "broker-g", "only")
    _asks(day, one, 12 * HOUR + 55 * MINUTE, "only", 4)
    day.at(13 * HOUR, two.stop)
    _asks(day, one, 13 * HOUR + 3 * MINUTE, "only", 50)
    day.at(13 * HOUR + 10 * MINUTE, two.start)
    for number, broker in enumerate((e, f, g)):
        _registers(day, two, 13 * HOUR + 10 * MINUTE + SECOND + number, broker)
    _registers(day, one, 13 * HOUR + 20 * MINUTE, g)
    first, second = ["view-1_9876"], ["view-2_9876"]
    return Written(
        "name servers that differ",
        day.records(),
        [
            ("drift", "broker-e", 8 * HOUR, 30 * MINUTE, "broker_missing", ["broker-e"], 0, None, second, 7, 0),
            ("drift", "broker-f", 9 * HOUR, SILENCE, "broker_missing", ["broker-f"], 0, None, first, 0, 0),
            ("broker_away", "broker-f", 9 * HOUR + SILENCE, 10 * MINUTE - SILENCE, "expired", ["broker-f"], 1, "F", [],
             0, 10 * MINUTE - SILENCE),
            ("permission_wiped", "broker-e", 11 * HOUR, 5 * MINUTE, "wipe_write_perm", ["broker-e"], 0, None, first, 0,
             0),
            ("drift", "only", 12 * HOUR + 50 * MINUTE, 10 * MINUTE, "topic_missing", ["broker-g"], 1, "only", first, 4,
             0),
            ("name_server_down", "view-2_9876", 13 * HOUR, 10 * MINUTE, "stopped", [], 1, "only", second, 50,
             10 * MINUTE + SECOND + 2),
            ("drift", "only", 13 * HOUR + 10 * MINUTE + SECOND + 2, 10 * MINUTE - SECOND - 2, "topic_missing",
             ["broker-g"], 1, "only", first, 0, 0),
        ],
        [
            ("name server view-2_9876 down", "stopped"),
            ("broker-f away", "silent for too long"),
            ("name servers disagreed about broker-e: view-2_9876 differed", "a broker was missing there"),
            ("name servers disagreed about broker-g: view-1_9876 differed, 2 times", "a topic was missing there"),
            ("permission to write to broker-e wiped", "wipeWritePerm, asked by 10.9.9.9:55555"),
            ("name servers disagreed about broker-f: view-1_9876 differed", "a broker was missing there"),
        ],
    )  # fmt: skip


def _of_costs() -> Written:
    """What cost most is neither the first, nor the longest, nor what most brokers or topics took part in."""
    day = Day(1, "cost")
    (server,) = day.servers
    wide = [f"H{number:02}" for number in range(40)]
    g, h, j = (
        _broker("broker-i", 10, ["G1", "G2", "both"]),
        _broker("broker-h", 11, wide),
        _broker("broker-j", 12, ["J"]),
    )
    j.topics["both"] = (8, 8, READ | WRITE, 0)
    h.topics["dropped"] = (8, 8, READ | WRITE, 0)
    slave = _broker("broker-i", 10, [], slave=True)
    for broker in (g, h, j, slave):
        day.register(SECOND, broker)
    # 01:00 Two topics for ten minutes. `both` has another broker.
    day.lose(HOUR, [g], "channel_closed")
    day.register(HOUR + 10 * MINUTE, g)
    # 02:00 Forty topics for a quarter of an hour: they have a route, so nobody asks in vain.
    _may_write(day, server, 2 * HOUR, "broker-h", write=False)
    _may_write(day, server, 2 * HOUR + 15 * MINUTE, "broker-h", write=True)
    # 05:00 Of a deleted topic five clients did not know.
    _without(day, 5 * HOUR, h, "dropped")
    _deletes(day, server, 5 * HOUR, "broker-h", "dropped")
    _asks(day, server, 5 * HOUR, "dropped", 5)
    # 07:00 A slave is away for 6 ms.
    day.lose(7 * HOUR, [slave], "channel_closed")
    day.register(7 * HOUR + 6, slave)
    # 09:00 The only name server is stopped for an hour.
    day.at(9 * HOUR, server.stop)
    day.at(10 * HOUR, server.start)
    for number, broker in enumerate((slave, g, h, j)):
        day.register(10 * HOUR + SECOND + number, broker)
    # 11:30 One topic for five minutes, and thousands ask for it.
    day.lose(11 * HOUR + 30 * MINUTE, [j], "expired", SILENCE)
    _asks(day, server, 11 * HOUR + 32 * MINUTE, "J", 3_000)
    day.register(11 * HOUR + 35 * MINUTE, j)
    # 12:00 One of two brokers of `both` dies; it is lost when the other may not be written to any more.
    day.lose(12 * HOUR, [g], "channel_closed")
    _may_write(day, server, 12 * HOUR + 10 * MINUTE, "broker-j", write=False)
    _may_write(day, server, 12 * HOUR + 12 * MINUTE, "broker-j", write=True)
    day.register(12 * HOUR + 20 * MINUTE, g)
    only = ["cost-1_9876"]
    return Written(
        "costs",
        day.records(),
        [
            ("broker_away", "broker-i", HOUR, 10 * MINUTE, "channel_closed", ["broker-i"], 2, "G1", [], 0, 20 * MINUTE),
            ("permission_wiped", "broker-h", 2 * HOUR, 15 * MINUTE, "wipe_write_perm", ["broker-h"], 41, "H00", only, 0,
             41 * 15 * MINUTE),
            ("topic_deleted", "dropped", 5 * HOUR, MINUTE, "delete_topic", ["broker-h"], 1, "dropped", only, 5, 0),
            ("broker_away", "broker-i", 7 * HOUR, 6, "channel_closed", ["broker-i"], 0, None, [], 0, 0),
            ("name_server_down", "cost-1_9876", 9 * HOUR, HOUR, "stopped", [], 0, None, only, 0, 0),
            ("broker_away", "broker-j", 11 * HOUR + 30 * MINUTE, 5 * MINUTE, "expired", ["broker-j"], 1, "J", [], 3_000,
             5 * MINUTE),
            ("broker_away", "broker-i", 12 * HOUR, 20 * MINUTE, "channel_closed", ["broker-i"], 2, "G1", [], 0,
             40 * MINUTE),
            ("permission_wiped", "broker-j", 12 * HOUR + 10 * MINUTE, 2 * MINUTE, "wipe_write_perm", ["broker-j"], 2,
             "J", only, 0, 4 * MINUTE),
        ],
        [
            ("broker-j away", "silent for too long"),
            ("permission to write to broker-h wiped", "wipeWritePerm, asked by 10.9.9.9:55555"),
            ("broker-i away, 3 times", "connection closed"),
            ("dropped deleted, and clients went on asking for it", "topic deleted, asked by 10.9.9.9:55556"),
            ("permission to write to broker-j wiped", "wipeWritePerm, asked by 10.9.9.9:55555"),
            ("name server cost-1_9876 down", "stopped"),
        ],
    )  # fmt: skip


WRITTEN_HISTORIES = (_of_rows_that_broke, _of_name_servers_that_differ, _of_costs)
"""Each makes one. Their name servers, brokers and topics have different names, so that one warehouse can hold them."""


def assert_written() -> None:
    """Check the table of each history, by itself and of all in one warehouse."""
    some = [make() for make in WRITTEN_HISTORIES]
    for each in some:
        assert _made(each.records) == list(each.incidents), each.name
    records = [record for each in some for record in each.records]
    assert sorted(_made(records), key=str) == sorted(
        (row for each in some for row in each.incidents), key=str
    )


def _made(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    duck = Duck()
    make_gold(duck, duck.load(records))
    return incidents_in(duck.gold("incident"))
