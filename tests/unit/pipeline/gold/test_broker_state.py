"""A broker that is up for longer than the pipeline looks back: its rows do not depend on when records came."""

import random

from namekeeper.common.expected import MEMORY_MS
from namekeeper.pipeline.gold.plan import DAY_MS
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker, History, NameServer
from tests.support.pipeline.duck import Duck

LAST_DAY = 14
LATE = MARCH + (LAST_DAY - 1) * DAY_MS


def long_up() -> History:
    """One broker, always registered somewhere; the name servers are restarted, and one is added in the end."""
    history = History("long")
    first, second, third = (NameServer(f"ns-{n}_9876", random.Random(n), history) for n in (1, 2, 3))
    broker = Broker("c", "b0", 0, "10.0.0.1:10911", False, None, {"orders": (4, 4, READ | WRITE, 0)}, {})

    def start(server: NameServer, now: int) -> None:
        server.offset = 0
        server.start(now)
        server.register(now + 1_000, broker)

    start(first, MARCH)
    for hour in range(6, LAST_DAY * 24, 6):
        now = MARCH + hour * HOUR
        if hour == 24:
            start(second, now)
        if hour == 42:
            first.stop(now)
            start(first, now + 500)
        if now == LATE + 6 * HOUR:
            start(third, now)
        for server in (first, second, third):
            if server.is_up:
                server.begin_checkpoint(now + 5_000, "interval")
                server.write_checkpoint(now + 5_000)
                server.write(now + 6_000, [{"kind": "server_alive", "connections": 1}])
    return history


def test_since_when_a_broker_is_up_and_who_saw_it_do_not_depend_on_when_records_came():
    records = [record for records in long_up().records.values() for record in records]
    at_once, late = Duck(), Duck()
    make_gold(at_once, at_once.load(records))
    make_gold(late, late.load(record for record in records if record["ts"] < LATE))
    make_gold(late, late.load(record for record in records if record["ts"] >= LATE))
    for table in ("broker_state_daily", "broker_availability_daily"):
        assert late.gold(table) == at_once.gold(table), table
    states = at_once.gold("broker_state_daily")
    assert {row["state"] for row in states} == {"up"}
    assert [row["witnesses"] for row in states] == [1] + [2] * (LAST_DAY - 2) + [3]
    began = states[0]["valid_from"]
    assert [row["began_at"] for row in states] == [
        max(began, MARCH + day * DAY_MS - MEMORY_MS) for day in range(LAST_DAY)
    ]
