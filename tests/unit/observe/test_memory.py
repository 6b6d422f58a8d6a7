"""How much an observer keeps of name servers that may not be what they seem."""

import tracemalloc
from collections.abc import Callable

import pytest

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.now import Now
from namekeeper.model.route import ClusterInfo, TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.observe.memory import MemoryLimits
from namekeeper.observe.questions import AskConfig, AskKv, AskMembers, AskRoute, AskTopics, ObservedAnswer
from namekeeper.observe.schedule import Rates, RequestSchedule
from namekeeper.observe.tables import ObservedTables

MIB = 1 << 20


class Fed:
    """Tables and a schedule that answers are given to."""

    def __init__(self) -> None:
        self.tables = ObservedTables()
        self.schedule = RequestSchedule(Rates(), lambda topic: topic in self.tables.topics)
        self.at = 0

    def take(self, question: object, value: object) -> None:
        self.at += 10
        answer = ObservedAnswer(question, value, Now(self.at, self.at), Now(self.at + 5, self.at + 5), 0)  # type: ignore[arg-type]
        self.schedule.touch(self.tables.take(answer).touched)
        if isinstance(question, AskRoute):
            self.schedule.sent(question, self.at)

    def members(self, count: int) -> None:
        names = [f"broker-{n}" for n in range(count)]
        table = {name: BrokerData("c", name, {0: f"10.0.0.1:{n}"}) for n, name in enumerate(names)}
        self.take(AskMembers(), ClusterInfo(table, {"c": list(table)} if table else {}))

    def topics(self, count: int, *, since: int = 0) -> None:
        self.take(AskTopics(), [f"topic-of-some-length-{n}" for n in range(since, since + count)])

    def rows(self, brokers: int, **more: object) -> None:
        queues = [QueueData(f"broker-{n}", 6, 4, 0, 4) for n in range(brokers)]
        for topic in list(self.tables.topics):
            self.take(AskRoute(topic), TopicRouteData([], list(queues), **more))  # type: ignore[arg-type]

    def mapped(self, queues: int) -> None:
        for topic in list(self.tables.topics):
            ids = {number: number for number in range(1_000, 1_000 + queues)}
            mapping = {"broker-0": TopicQueueMappingInfo("broker-0", ids, topic=f"{topic}!")}
            self.take(
                AskRoute(topic),
                TopicRouteData(
                    [], [QueueData("broker-0", 6, 4, 0, 4)], topic_queue_mapping_by_broker=mapping
                ),
            )


def members(fed: Fed) -> None:
    fed.members(10_000)


def topics(fed: Fed) -> None:
    fed.topics(30_000)


def rows(fed: Fed) -> None:
    fed.topics(3_000)
    fed.rows(20)


def mappings(fed: Fed) -> None:
    fed.topics(100)
    fed.mapped(500)


def entries(fed: Fed) -> None:
    fed.take(AskKv("n"), {f"key-{n}": f"value-{n}" for n in range(20_000)})
    fed.take(AskConfig(), {f"key-{n}": f"value-{n}" for n in range(20_000)})


@pytest.mark.parametrize("fill", [members, topics, rows, mappings, entries])
def test_the_size_is_about_the_memory(fill: Callable[[Fed], None]) -> None:
    fill(Fed())  # what is made once for all
    tracemalloc.start()
    try:
        fed = Fed()
        before = tracemalloc.get_traced_memory()[0]
        fill(fed)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held / 1.2 < fed.tables.size < 3 * held, (held, fed.tables.size)


def test_what_is_gone_has_no_size() -> None:
    fed = Fed()
    for _ in range(2):
        fed.members(50)
        fed.topics(20)
        fed.rows(5)
        fed.mapped(3)
        fed.take(AskKv("n"), {"k": "v"})
        fed.take(AskConfig(), {"k": "v"})
        assert fed.tables.size > 20_000
        fed.members(0)
        fed.topics(0)
        fed.topics(0)
        fed.members(0)
        fed.topics(0)
        fed.take(AskKv("n"), {})
        fed.take(AskConfig(), {})
        assert (fed.tables.topics, fed.tables.size) == ({}, 0)


def test_a_name_server_has_a_limit_of_its_own() -> None:
    memory = MemoryLimits(namesrv_bytes=10 * MIB, all_bytes=100 * MIB)
    assert memory.refuses("a", 10 * MIB) == ""
    assert memory.refuses("a", 11 * MIB) == "its topics, brokers and entries take 11 MiB, more than 10 MiB"


def test_beyond_the_limit_of_all_the_largest_has_to_go() -> None:
    memory = MemoryLimits(namesrv_bytes=10 * MIB, all_bytes=15 * MIB)
    assert memory.refuses("large", 9 * MIB) == ""
    assert memory.refuses("small", 7 * MIB) == ""
    assert "more than 15 MiB, it takes most of it" in memory.refuses("large", 9 * MIB)
    memory.release("large")
    assert memory.refuses("small", 8 * MIB) == ""
