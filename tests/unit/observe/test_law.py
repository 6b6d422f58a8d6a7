"""The law with windows: every answer to a second client is one that the journal of the observer allows then."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from random import Random
from typing import Any

import pytest

from namekeeper.observe.observer import NameServerObserver
from tests.support.system.loops import virtual_time
from tests.unit.observe.simulated import (
    ADDR,
    BEGIN_MS,
    LoopClock,
    MemoryJournal,
    SimulatedNetwork,
    registration_body,
)

pytestmark = virtual_time

SECONDS = 120
QUIET_SECONDS = 20
"""At the end nothing changes any more, until everything was asked for again."""
HOLD_SECONDS = 14
"""So long nothing else changes at a broker: a change that another one hides is not seen by who asks now and then."""
BROKERS = {f"b{n}": f"10.0.0.{n}:10911" for n in range(4)}
Key = tuple[str, ...]
Record = dict[str, Any]


class ChangingCluster:
    """Brokers whose topics, permissions and registrations change at random instants."""

    def __init__(self, network: SimulatedNetwork, chance: Random) -> None:
        self.network, self.chance = network, chance
        self.held: dict[str, float] = dict.fromkeys(BROKERS, 0.0)
        self.topics: dict[str, dict[str, int]] = {}
        self.counter = 0
        self.changes = 0

    def register(self, name: str, **topics: int) -> None:
        self.counter += 1
        self.topics[name] = {**self.topics.get(name, {}), **topics}
        body = registration_body(self.topics[name], self.counter)
        answer = self.network.server.register(
            body, brokerName=name, brokerAddr=BROKERS[name], clusterName="c"
        )
        assert answer.code == 0

    def begin(self) -> None:
        for n, name in enumerate(BROKERS):
            self.register(name, **{f"t{m}": 4 for m in range(20)}, **{f"only{n}-{m}": 8 for m in range(10)})

    async def go_on(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + SECONDS
        while loop.time() < end:
            await asyncio.sleep(self.chance.expovariate(1))
            free = [name for name in BROKERS if self.held[name] <= loop.time()]
            if free:
                self.change(self.chance.choice(free), free, loop.time() + HOLD_SECONDS)

    def change(self, name: str, free: list[str], hold: float) -> None:
        self.changes += 1
        self.held[name] = hold
        if name not in self.topics:
            self.register(name, **{f"t{m}": self.chance.randint(1, 9) for m in range(20)})
            return
        kind = self.chance.choice(("unregister", "queues", "queues", "wipe", "delete", "new", "kv"))
        topic = self.chance.choice(sorted(self.topics[name]) or ["t0"])
        ask = self.network.server.ask
        if kind == "unregister":
            fields = {"brokerName": name, "brokerAddr": BROKERS[name], "clusterName": "c", "brokerId": "0"}
            assert ask(104, fields).code == 0
            del self.topics[name]
        elif kind == "queues":
            self.register(name, **{topic: self.chance.randint(1, 9)})
        elif kind == "wipe":
            assert ask(205, {"brokerName": name}).code == 0
        elif kind == "new":
            self.register(name, **{f"new{self.changes}": 4})
        elif kind == "kv":
            entry = {"namespace": "ORDER_TOPIC_CONFIG", "key": topic}
            assert ask(100, {**entry, "value": f"b0:{self.changes}"}).code == 0
        elif {other for other, topics in self.topics.items() if topic in topics} <= set(free):
            assert ask(216, {"topic": topic}).code == 0
            for other, topics in self.topics.items():
                if topics.pop(topic, None) is not None:
                    self.held[other] = hold


class Allowed:
    """What the records of a period of observation allow, for each row and instant."""

    def __init__(self, begin: int, rows: Iterable[Record], records: Iterable[Record]) -> None:
        self.begin = begin
        self._versions: dict[Key, list[tuple[int, int, Any]]] = defaultdict(list)
        """Row -> earliest and latest time of each change, and the value after it."""
        self._rows_of: dict[str, set[str]] = defaultdict(set)
        for record in rows:
            self._take(record, record["ts"], record["ts"])
        for record in records:
            self._take(record, record["ts"] - record["window_ms"], record["ts"])

    def at(self, key: Key, ms: int) -> list[Any]:
        """The values that a row may have had."""
        found = [(self.begin, self.begin, None), *self._versions[key]]
        ends = [*(latest for _, latest, _ in found[1:]), None]
        return [
            value
            for (earliest, _, value), end in zip(found, ends, strict=True)
            if earliest <= ms and (end is None or ms <= end)
        ]

    def _put(self, key: Key, earliest: int, latest: int, value: Any) -> None:
        self._versions[key].append((earliest, latest, value))

    def _take(self, record: Record, earliest: int, latest: int) -> None:
        kind = record["kind"]
        put = partial(self._put, earliest=earliest, latest=latest)
        if kind == "broker_group":
            put(
                ("group", record["broker_name"]), value=None if record.get("gone") else record["broker_addrs"]
            )
        elif kind == "broker_live":
            put(("live", record["broker_addr"]), value=None if record.get("gone") else record["broker_name"])
        elif kind == "cluster":
            for name in BROKERS:  # two of them may change within one window
                put(("member", name), value=name in record.get("broker_names", []))
        elif kind == "topic_queues":
            for topic, *queues in record["rows"]:
                self._rows_of[record["broker_name"]].add(topic)
                put(("row", topic, record["broker_name"]), value=queues or None)
        elif kind == "broker_name_removed":
            for topic in self._rows_of.pop(record["broker_name"], ()):
                put(("row", topic, record["broker_name"]), value=None)
        elif kind == "kv":
            put(("kv", record["key"]), value=None if record.get("gone") else record["value"])


class SecondClient:
    """Asks at random instants, and notes what each row was then."""

    def __init__(self, network: SimulatedNetwork, chance: Random) -> None:
        self.network, self.chance = network, chance
        self.seen: list[tuple[int, Key, Any]] = []
        self.asked = 0

    async def go_on(self) -> None:
        while True:
            await asyncio.sleep(self.chance.expovariate(4))
            self.ask(LoopClock().now().wall_ms)

    def ask(self, ms: int) -> None:
        self.asked += 1
        see = partial(self._see, ms)
        info = json.loads(self.network.ask(106, {}).body)
        for name, addr in BROKERS.items():
            group = info["brokerAddrTable"].get(name)
            see(("group", name), group and group["brokerAddrs"])
            see(("live", addr), group and name)
            see(("member", name), name in info["clusterAddrTable"].get("c", []))
        for topic in self.chance.sample([f"t{m}" for m in range(20)], 5) + [f"only{n}-0" for n in range(4)]:
            answer = self.network.ask(105, {"topic": topic})
            queues = (
                {}
                if answer.code
                else {one["brokerName"]: one for one in json.loads(answer.body)["queueDatas"]}
            )
            for name in BROKERS:
                one = queues.get(name)
                numbers = one and [
                    one["readQueueNums"],
                    one["writeQueueNums"],
                    one["perm"],
                    one["topicSysFlag"],
                ]
                see(("row", topic, name), numbers)
        answer = self.network.ask(219, {"namespace": "ORDER_TOPIC_CONFIG"})
        table = {} if answer.code else json.loads(answer.body)["table"]
        for topic in ("t0", "t1", "only0-0"):
            see(("kv", topic), table.get(topic))

    def _see(self, ms: int, key: Key, value: Any) -> None:
        self.seen.append((ms, key, value))


class Run:
    """One observed history."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.network = SimulatedNetwork(Random(seed + 1))
        self.cluster = ChangingCluster(self.network, Random(seed + 2))
        self.client = SecondClient(self.network, Random(seed + 3))
        self.periods: list[MemoryJournal] = []

    async def happen(self) -> MemoryJournal:
        self.cluster.begin()
        observer = NameServerObserver(
            ADDR, self.network, partial(MemoryJournal, self.periods), clock=LoopClock()
        )
        tasks = [asyncio.create_task(observer.run()), asyncio.create_task(self.client.go_on())]
        await asyncio.sleep(10)
        await self.cluster.go_on()
        await asyncio.sleep(QUIET_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.windows = observer.status().windows
        (period,) = self.periods
        return period

    def broken(self, allowed: Allowed) -> list[tuple[int, Key, Any, list[Any]]]:
        """What was seen that the records do not allow."""
        return [
            (ms, key, value, may)
            for ms, key, value in self.client.seen
            if ms > allowed.begin and value not in (may := allowed.at(key, ms))
        ]

    def unfounded(self, records: Iterable[Record]) -> Iterator[Record]:
        """Records whose window does not begin when a request was sent and end when an answer was received."""
        sent = {exchange.sent for exchange in self.network.exchanges}
        received = {exchange.received for exchange in self.network.exchanges}
        for record in records:
            until = record["ts"] - BEGIN_MS
            if until not in received or until - record["window_ms"] not in sent:
                yield record

    def too_wide(self, records: Iterable[Record]) -> Iterator[Record]:
        """Records with a longer window than is stated."""
        windows = self.windows
        of_kind = {"kv": windows.kv_ms, "topic_queues": windows.queues_ms}
        for record in records:
            if record["window_ms"] > of_kind.get(record["kind"], windows.members_ms):
                yield record


_runs: dict[int, tuple[Run, MemoryJournal]] = {}


async def observed(seed: int) -> tuple[Run, MemoryJournal]:
    """A history, which several tests look at."""
    if seed not in _runs:
        run = Run(seed)
        _runs[seed] = run, await run.happen()
    return _runs[seed]


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 40))]
)
async def test_every_answer_is_one_that_the_journal_allows(seed: int) -> None:
    run, period = await observed(seed)
    assert run.client.asked > 300
    assert {record["kind"] for record in period.records} >= {
        "broker_group",
        "broker_live",
        "cluster",
        "topic_queues",
    }
    assert run.broken(Allowed(period.began.wall_ms, period.rows, period.records)) == []
    assert list(run.unfounded(period.records)) == []
    assert list(run.too_wide(period.records)) == []


def narrowed(record: Record) -> Record:
    return {**record, "window_ms": record["window_ms"] // 3}


def later(record: Record) -> Record:
    return {**record, "ts": record["ts"] + record["window_ms"] + 1}


def earlier(record: Record) -> Record:
    return {**record, "ts": record["ts"] - record["window_ms"] - 1}


@pytest.mark.parametrize("spoil", [narrowed, later, earlier])
async def test_a_window_that_is_narrowed_or_shifted_breaks_the_law(spoil: Callable[[Record], Record]) -> None:
    run, period = await observed(0)
    assert run.broken(Allowed(period.began.wall_ms, period.rows, map(spoil, period.records)))


async def test_a_window_that_is_widened_begins_at_no_request() -> None:
    run, period = await observed(0)
    wider = [{**record, "window_ms": record["window_ms"] * 2} for record in period.records]
    assert len(list(run.unfounded(wider))) > len(wider) / 2
