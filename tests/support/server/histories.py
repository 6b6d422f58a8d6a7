"""Brokers that change a topic each while clients look both up: what was seen, for `linearizability.violations`."""

import asyncio
import json
import math
import time
from collections.abc import Callable

from namekeeper.broker.payload import register_broker_request
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import request
from tests.support.server.builders import header
from tests.support.server.linearizability import Operation, violations
from tests.support.system.waiting import eventually
from tests.support.wire.peer import Peer, connect

__all__ = ["READS_BESIDE_A_WRITE", "TOPICS", "WRITES", "Histories"]

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

    def __init__(self, address: str, is_ready: Callable[[], bool] = lambda: True, *, first: int = 0) -> None:
        """Begin.

        Args:
            address: where the server listens.
            is_ready: waited for before each write.
            first: the value with which the history begins.
        """
        self.address = address
        self._is_ready = is_ready
        self._first = first
        self.writes: dict[str, list[Operation]] = {topic: [] for topic in TOPICS}
        self.reads: dict[str, list[Operation]] = {topic: [] for topic in TOPICS}
        self.is_over = False

    async def run(self) -> None:
        """Have every broker write while every reader reads."""
        async with connect(self.address) as first, connect(self.address) as second:
            brokers = (first, second)
            for broker, topic in enumerate(TOPICS):
                await self._write(brokers[broker], broker, topic, self._first)
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
        for value in range(self._first + 1, self._first + WRITES + 1):
            before = len(self.reads[topic])
            await self._write(peer, broker, topic, value)
            await eventually(
                lambda: len(self.reads[topic]) >= before + READS_BESIDE_A_WRITE and self._is_ready(),  # noqa: B023
                within_seconds=60,
            )

    async def _write(self, peer: Peer, broker: int, topic: str, value: int) -> None:
        begin, end = time.monotonic(), math.inf
        try:
            await peer.send(registration(broker, topic, value))
            answer = await peer.answer()
            assert answer.code == 0, answer.remark
            end = time.monotonic()
        finally:  # what was not answered may be seen, or not
            self.writes[topic].append(Operation(begin, end, value))

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

    def violations(self) -> list[str]:
        """Say what can't be."""
        return [each for topic in TOPICS for each in violations(self.writes[topic], self.reads[topic])]
