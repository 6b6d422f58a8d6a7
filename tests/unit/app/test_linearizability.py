"""Look-ups and changes over many connections: what clients see is one history (decisions 6 and 21).

Every look-up that is sent after a change was answered shows the change, and no look-up shows less than one that
was answered before it was sent; with the native front, too, where it is installed.
"""

import asyncio
import json
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from namekeeper.app.name_server import NameServer
from namekeeper.broker.payload import register_broker_request
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.remoting import lending
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import request
from tests.support.server.builders import header
from tests.support.server.linearizability import Operation, violations
from tests.support.system.waiting import eventually
from tests.support.wire.peer import Peer, connect
from tests.unit.app.parts import name_server

FRONTS = ["python", *(["native"] if find_spec("namekeeper_front") else [])]
TOPICS = ("A", "B")
BROKERS = ("broker-a", "broker-b")
READERS = 6
WRITES = 40
READS_BESIDE_A_WRITE = 12


def registration(broker: int, topic: str, value: int) -> bytes:
    """A registration that says a value by the queues of a topic, and has another topic."""
    asked = register_broker_request(
        header(BROKERS[broker], f"10.0.0.{broker + 1}:10911"),
        RegisterBrokerBody(
            topics=tuple(
                TopicConfig(name, read_queue_nums=100 + value, write_queue_nums=4)
                for name in (topic, f"{BROKERS[broker]}-own")
            ),
            data_version=DataVersion(counter=value, timestamp=1_700_000_000_000 + value),
        ),
    )
    return encode_command(asked)


class Histories:
    """What happened to each topic, while a server ran."""

    def __init__(self, server: NameServer) -> None:
        self.server = server
        self.address = f"127.0.0.1:{server.port}"
        self.writes: dict[str, list[Operation]] = {topic: [] for topic in TOPICS}
        self.reads: dict[str, list[Operation]] = {topic: [] for topic in TOPICS}
        self.is_over = False

    async def run(self) -> None:
        """Have every broker write while every reader reads."""
        async with connect(self.address) as first, connect(self.address) as second:
            brokers = (first, second)
            for broker, topic in enumerate(TOPICS):
                await self._write(brokers[broker], broker, topic, 0)
            async with asyncio.TaskGroup() as everybody:  # whoever fails ends it for all
                for _ in range(READERS):
                    everybody.create_task(self._read_on())
                writers = [
                    everybody.create_task(self._write_on(brokers[at], at, topic))
                    for at, topic in enumerate(TOPICS)
                ]
                await asyncio.wait(writers)
                self.is_over = True

    async def _write_on(self, peer: Peer, broker: int, topic: str) -> None:
        for value in range(1, WRITES + 1):
            before = len(self.reads[topic])
            await self._write(peer, broker, topic, value)
            await eventually(
                lambda: len(self.reads[topic]) >= before + READS_BESIDE_A_WRITE and self._is_lent(),  # noqa: B023
                within_seconds=60,
            )

    def _is_lent(self) -> bool:
        """Whether the front, if there is one, answers somebody now."""
        front = self.server.server.front
        return front is None or len(front) > 0

    async def _write(self, peer: Peer, broker: int, topic: str, value: int) -> None:
        begin = time.monotonic()
        await peer.send(registration(broker, topic, value))
        answer = await peer.answer()
        assert answer.code == 0, answer.remark
        self.writes[topic].append(Operation(begin, time.monotonic(), value))

    async def _read_on(self) -> None:
        async with connect(self.address) as peer:
            number = 0
            while not self.is_over:
                number += 1
                topic = TOPICS[number % len(TOPICS)]
                begin = time.monotonic()
                await peer.send(encode_command(request(105, {"topic": topic}, opaque=number)))
                answer = await peer.answer()
                assert (answer.code, answer.opaque) == (0, number)
                (queues,) = json.loads(answer.body)["queueDatas"]
                value = queues["readQueueNums"] - 100
                self.reads[topic].append(Operation(begin, time.monotonic(), value))


@pytest.mark.parametrize("front", FRONTS)
async def test_what_clients_see_is_one_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, front: str):
    monkeypatch.setattr(lending, "MAX_KNOWN_READS", lending.MIN_KNOWN_READS)
    async with name_server(tmp_path, front=front) as server:
        histories = Histories(server)
        await histories.run()
        loans = server.operators.stats().front_loans
        found = server.state.lookup_cache.found
    for topic in TOPICS:
        assert len(histories.reads[topic]) >= WRITES * READS_BESIDE_A_WRITE
        assert violations(histories.writes[topic], histories.reads[topic]) == []
    assert found > WRITES
    assert (loans > 0) == (front == "native")


WROTE = (Operation(0, 1, 1), Operation(2, 4, 2), Operation(6, 8, 3))


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([Operation(-2, -1, 0), Operation(1.5, 3, 1), Operation(4.5, 5, 2)], 0),
        ([Operation(2.5, 3.5, 2), Operation(2.6, 2.9, 1)], 0),
        ([Operation(1.5, 3, 0)], 1),
        ([Operation(4.5, 5, 1)], 1),
        ([Operation(4.5, 5, 3)], 1),
        ([Operation(4.5, 5, 7)], 1),
        ([Operation(2.1, 2.2, 2), Operation(2.3, 2.4, 1)], 1),
    ],
    ids=["plain", "while it changes", "never seen", "old", "early", "never written", "back and forth"],
)
def test_what_cannot_be_is_found(reads, expected):
    assert len(violations(WROTE, reads)) == expected
