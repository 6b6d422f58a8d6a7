"""Generated cases for the client's pure functions, in the words of ClientOracle.java."""

import contextlib
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec

from namekeeper.client.queues.message_queue import java_order
from namekeeper.client.queues.route_queues import topic_publish_info
from namekeeper.errors import NamekeeperError
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData

__all__ = ["FIVE_ONLY", "OPERATIONS", "Case", "cases"]

Case = dict[str, Any]

NAMES = (
    "broker-a", "broker-b", "broker-c", "broker-d", "broker-e", "Broker-a", "broker", "", "b r", "经纪人", "é",
    "\ue000-private", "\uffee-high", "😀-astral", "room1@broker-a", "room2@broker-b",
)  # fmt: skip
ROOMY = (
    "room1@broker-a", "room1@broker-b", "room2@broker-a", "room2@broker-c", "room3@broker-d", "broker-e",
    "room1@broker@x", "room1@broker@", "room2@", "@broker-f", "@", "room1@@",
)  # fmt: skip
TOPICS = ("TopicTest", "%RETRY%group", "t", "topic with spaces", "题目", "😀", "")
SCOPES = ("__global__", "local", "", "_", "__none__")
ORDER_CONFS = (
    ";", ";;", ":", "a", "a:", ":4", "a:4;", ";a:4", "a:4;;b:2", "a:4:7", "a::4", "a:+3", "a:-3", "a:0", "a: 3",
    "a:3 ", "a:3_0", "a:٣", "a:\uff14", "a:99999999999", "a:2147483648", "a:-2147483648", "a:-2147483649",
    "a:0x3", "a:", "a:3.0", " a:2",
)  # fmt: skip
LEGAL = "abcXYZ019%|_-"
SYSTEM_TOPICS_4 = ("SCHEDULE_TOPIC_XXXX", "TBW102", "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC", "DefaultCluster")
SYSTEM_TOPICS = (
    *SYSTEM_TOPICS_4, "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC", "rmq_sys_x",
)  # fmt: skip
"""Nobody may send to some of them; in 4.x to the first only. 5.5.0 has two more that 5.3.3 hasn't."""
GRAIN_MS = 500
"""Virtual time passes in these steps, so that real time can't change what a fault table says."""

COUNTS = {
    "publish": 3_000, "subscribe": 2_000, "endpoints": 2_000, "changed": 3_000, "sort": 500, "topic": 2_000,
    "allocate": 6_000, "select": 3_000,
}  # fmt: skip
OPERATIONS = tuple(COUNTS)
FIVE_ONLY = frozenset({"endpoints"})
"""Operations that 4.x doesn't know."""


def cases(seed: str, *, five: bool) -> list[Case]:
    """Return the cases for a release of the 5.x or the 4.x line, the same for the same seed."""
    made: list[Case] = []
    for op, count in COUNTS.items():
        if five or op not in FIVE_ONLY:
            maker = Maker(random.Random(f"{seed} {op}"), five=five)
            made += [{"op": op, "five": five, **getattr(maker, op)()} for _ in range(count)]
    return made


class Maker:
    """Makes one case of an operation at a call."""

    def __init__(self, chance: random.Random, *, five: bool) -> None:
        self.chance = chance
        self.five = five

    # routes

    def publish(self) -> Case:
        return {"topic": self.chance.choice(TOPICS), "route": self._text(self._route())}

    subscribe = publish

    def endpoints(self) -> Case:
        route = msgspec.structs.replace(self._route(), topic_queue_mapping_by_broker=self._mapping())
        return {"topic": self.chance.choice(TOPICS), "route": self._text(route)}

    def changed(self) -> Case:
        old = self._route()
        new = old
        for _ in range(self.chance.choice((0, 1, 1, 1, 2))):
            new = self._altered(new)
        new = self._shuffled(new) if self.chance.random() < 0.5 else new
        return {"old": self._text(old) if self.chance.random() < 0.98 else None, "new": self._text(new)}

    def _text(self, route: TopicRouteData) -> str:
        """Return a route as name servers send it, to any release."""
        tree = msgspec.to_builtins(route, str_keys=True)
        for queues in tree["queueDatas"]:
            queues["topicSynFlag"] = queues["topicSysFlag"]
        return json.dumps(tree, ensure_ascii=False)

    def _route(self) -> TopicRouteData:
        names = self._sample(NAMES, 8)
        hosts = [name for name in names if self.chance.random() < 0.9] + self._sample(names, 1)
        return TopicRouteData(
            broker_datas=[self._broker(name) for name in self._mixed(hosts)],
            queue_datas=[self._queues(name) for name in self._mixed(names + self._sample(names, 1))],
            filter_server_table=self._filters(),
            order_topic_conf=self._order_conf(),
            topic_queue_mapping_by_broker=self._mapping() if self.five and self._one_in(4) else None,
        )

    def _broker(self, name: str) -> BrokerData:
        ids = self._sample((0, 0, 1, 2, 7), 3)
        addrs = {number: f"10.0.0.{self.chance.randrange(4)}:10911" for number in ids}
        zone = self.chance.choice((None, None, "z"))
        return BrokerData(self.chance.choice(("c1", "c2")), name, addrs, self._one_in(5), zone)

    def _queues(self, name: str) -> QueueData:
        perm = self.chance.choice((6, 6, 6, 7, 4, 2, 0, 1, 3, 8, 14))
        nums = (0, 1, 2, 4, 4, 8, 16, -1)
        return QueueData(
            name, perm, self.chance.choice(nums), self.chance.randrange(4), self.chance.choice(nums)
        )

    def _filters(self) -> dict[str, list[str]]:
        return {"10.0.0.1:10911": [f"f{self.chance.randrange(2)}"]} if self._one_in(4) else {}

    def _order_conf(self) -> str | None:
        kind = self.chance.random()
        if kind < 0.6:
            return None
        if kind < 0.65:
            return ""
        if kind < 0.75:
            return self.chance.choice(ORDER_CONFS)
        conf = ";".join(f"{name}:{self.chance.randrange(12)}" for name in self._sample(NAMES, 4))
        if kind < 0.9 or not conf:
            return conf
        at = self.chance.randrange(len(conf))
        return conf[:at] + self.chance.choice(";;::+- x٣") + conf[at + self.chance.randrange(2) :]

    def _mapping(self) -> dict[str, TopicQueueMappingInfo] | None:
        if self._one_in(10):
            return self.chance.choice((None, {}))
        names = self._sample(NAMES, 6) or ["broker-a"]
        scopes = self._sample(SCOPES, 2) or ["__global__"]
        epochs = self.chance.sample(range(40), len(names))  # of equal ones Java takes any
        return {
            name: TopicQueueMappingInfo(
                bname=name,
                curr_id_map={number: self.chance.randrange(9) for number in self._sample(range(9), 6)},
                dirty=self._one_in(3),
                epoch=epoch * self.chance.choice((1, 1, 1_000_000_000_000)),
                scope=self.chance.choice(scopes),
                topic="t",
                total_queues=self.chance.choice((8, 8, 4, 0, 12)),
            )
            for name, epoch in zip(names, dict.fromkeys(epochs), strict=True)
        }

    def _altered(self, route: TopicRouteData) -> TopicRouteData:
        """Return a route with one member changed, or one of its brokers or queues."""
        other, member = self._route(), self.chance.choice(TopicRouteData.__struct_fields__)
        if member not in ("broker_datas", "queue_datas") or self._one_in(6):
            return msgspec.structs.replace(route, **{member: getattr(other, member)})
        rows = list(getattr(route, member))
        if rows:
            at = self.chance.randrange(len(rows))
            row, name = rows[at], rows[at].broker_name
            like = self._broker(name) if member == "broker_datas" else self._queues(name)
            part = self.chance.choice(row.__struct_fields__)
            rows[at] = msgspec.structs.replace(row, **{part: getattr(like, part)})
        return msgspec.structs.replace(route, **{member: rows})

    def _shuffled(self, route: TopicRouteData) -> TopicRouteData:
        return msgspec.structs.replace(
            route, broker_datas=self._mixed(route.broker_datas), queue_datas=self._mixed(route.queue_datas)
        )

    # names

    def sort(self) -> Case:
        return {
            "queues": [
                [self.chance.choice(TOPICS), self.chance.choice(NAMES), self.chance.randrange(20)]
                for _ in range(self.chance.randrange(12))
            ]
        }

    def topic(self) -> Case:
        if self._one_in(10):
            return {"topic": self.chance.choice(SYSTEM_TOPICS if self.five else SYSTEM_TOPICS_4)}
        length = self.chance.choice((0, 1, 5, 20, 126, 127, 128, 200))
        text = "".join(self.chance.choices(LEGAL, k=length))
        if length and self._one_in(2):
            at = self.chance.randrange(length)
            text = text[:at] + self.chance.choice(" \t\n\r.,:/@+*$^é٣中😀\0") + text[at + 1 :]
        return {"topic": self.chance.choice((text, text, text, text, " " * length, "\t\n"))}

    # consumers

    def allocate(self) -> Case:
        names = self._sample(ROOMY if self._one_in(2) else NAMES, 6)
        rows = [[name, number] for name in names for number in range(self.chance.randrange(9))]
        if not self._one_in(8):
            rows.sort(key=lambda row: (java_order(row[0]), row[1]))
        cids = [
            f"{self.chance.choice(('room1@', 'room2@', 'room3@', 'room9@', 'ü@') if not self._one_in(40) else ('',))}"
            f"10.0.{self.chance.randrange(30)}.1@{self.chance.randrange(1000)}"
            for _ in range(self.chance.choice((0, 1, 1, 2, 3, 4, 5, 8, 13, 40)))
        ]
        cids += self._sample(cids, 2) if self._one_in(8) else []
        if not self._one_in(8):
            cids.sort(key=java_order)
        cid = (
            self.chance.choice(cids)
            if cids and not self._one_in(12)
            else self.chance.choice(("", "away", "room1@x"))
        )
        strategy = self._strategy()
        if not self.five and strategy["name"] == "MACHINE_ROOM" and not (rows and cids and cid):
            strategy = {"name": "AVG"}  # 4.x doesn't refuse empty arguments there
        return {
            "topic": self.chance.choice(TOPICS),
            "cid": cid,
            "cids": cids,
            "queues": rows,
            "strategy": strategy,
        }

    def _strategy(self) -> Case:
        name = self.chance.choice(
            ("AVG", "AVG_BY_CIRCLE", "CONFIG", "MACHINE_ROOM", "CONSISTENT_HASH", "MACHINE_ROOM_NEARBY")
        )
        if name == "CONFIG":
            return {
                "name": name,
                "queues": [["configured", number] for number in range(self.chance.randrange(3))],
            }
        if name == "MACHINE_ROOM":
            return {"name": name, "rooms": self._sample(("room1", "room2", "room9", ""), 3)}
        if name == "CONSISTENT_HASH":
            places = self.chance.choice((None, None, None, 1, 17, 100))
            return {"name": name, "nodes": self.chance.choice((10, 10, 10, 0, 1, 3)), "places": places}
        if name == "MACHINE_ROOM_NEARBY":
            return {"name": name, "inner": self._strategy()}
        return {"name": name}

    # producers

    def select(self) -> Case:
        while True:
            route = self._route()
            scopes = {info.scope for info in (route.topic_queue_mapping_by_broker or {}).values()}
            with contextlib.suppress(NamekeeperError):
                queues = topic_publish_info("t", route).message_queues
                if queues and len(scopes) < 2:  # Java fails without queues; the order of scopes is its secret
                    break
        brokers = [*sorted({queue.broker_name for queue in queues}), "gone-1", "gone-2"]
        latency = self.chance.random() < 0.75
        start = self.chance.randrange(-(2**31), 2**31) if self.five else self.chance.randrange(2**30)
        if self.five and self._one_in(10):
            start = self.chance.choice((2**31 - 1, 2**31 - 3, -1, -2, -(2**31)))
        return {
            "topic": "t", "route": self._text(route), "latency": latency, "start": start,
            "worst": self.chance.randrange(2**30), "steps": list(self._steps(brokers)),
        }  # fmt: skip

    def _steps(self, brokers: list[str]) -> Iterator[list[Any]]:
        known = (0, 30, 49, 50, 99, 100, 549, 550, 999, 1000, 1799, 1800, 1999, 2000, 2999, 3000, 4999, 5000, 9999,
                 10000, 14999, 15000, 29999, 30000, 70000)  # fmt: skip
        # 4.x orders brokers of equal latency by real time: here no two are equal
        latencies = self.chance.sample(known, len(known))
        for _ in range(self.chance.randrange(1, 14)):
            kind = self.chance.random()
            if kind < 0.4 and latencies:
                yield [
                    "update",
                    self.chance.choice(brokers),
                    latencies.pop(),
                    self._one_in(4),
                    not self._one_in(3),
                ]
            elif kind < 0.55:
                yield ["advance", GRAIN_MS * self.chance.choice((1, 3, 4, 9, 11, 20, 50, 100, 400))]
            else:
                last = self.chance.choice(brokers) if self._one_in(2) else None
                yield ["select", last, self._one_in(3), self.chance.randrange(2**31 - 1)]

    # chance

    def _one_in(self, count: int) -> bool:
        return self.chance.randrange(count) == 0

    def _sample(self, of: Any, most: int) -> list[Any]:
        values = list(of)
        return self.chance.sample(values, self.chance.randrange(min(most, len(values)) + 1))

    def _mixed(self, values: list[Any]) -> list[Any]:
        return self.chance.sample(values, len(values))
