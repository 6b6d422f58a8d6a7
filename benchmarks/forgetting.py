"""The longest turn when a broker changes whose topics are known: `python -m benchmarks.forgetting`.

Once a change is answered no answer from before it may be used; they are forgotten in turns. Topics of
four brokers are asked for; then one of the brokers changes all of them, leaves, and comes back, in this
process and without sockets. Prints the longest turn of each in milliseconds of the CPU: the median and the
most of some rounds, and the median when nobody asked for a topic.
"""

import argparse
import asyncio
import gc
import logging
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.load.payload import BASE_BROKERS, Topic, base_topic, goodbye, registration
from namekeeper.app.process import spare_the_collector
from namekeeper.clock import SystemClock
from namekeeper.remoting.front import Front, load_front
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import request
from tests.unit.app.parts import Parts
from tests.unit.remoting.joined import Joined

__all__: list[str] = []

TOPICS, ROUNDS = 20_000, 7
READ_BYTES, READS = 64 * 1024, 32
"""What uvloop reads of one socket before it turns to the others."""


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser("python -m benchmarks.forgetting", description=__doc__)
    parser.add_argument("--topics", type=int, default=TOPICS, help="of each of four brokers")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--native", action="store_true", help="the native front knows the topics, too")
    options = parser.parse_args()
    logging.disable()
    spare_the_collector()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder), options.topics, options.rounds, is_native=options.native))


async def _measure(folder: Path, topics: int, rounds: int, *, is_native: bool) -> None:
    front = load_front() if is_native else None
    if is_native and front is None:
        raise SystemExit("the native front is not installed: run `make native`")
    cluster = _Cluster(folder, topics, front)
    acts = {"changes all topics": cluster.change, "leaves": cluster.leave, "comes back": cluster.come_back}
    unknown: dict[str, list[float]] = {name: [] for name in acts}
    known: dict[str, list[float]] = {name: [] for name in acts}
    for longest in [unknown, known] * rounds:
        for name, act in acts.items():
            cluster.forget_all()
            if longest is known:
                cluster.ask_for_all()
            gc.collect()
            longest[name].append(1_000 * act())
    print(f"{topics:,} topics: longest turn in ms, median and most; median when none is known")
    for name, took in known.items():
        least = statistics.median(unknown[name])
        print(f"{name}: {statistics.median(took):.1f}, {max(took):.1f}; {least:.1f}")
    if front is not None:
        front.close()


class _Cluster:
    """Four brokers that have all topics, and a client that asks for each."""

    def __init__(self, folder: Path, topics: int, front: Front | None) -> None:
        self._parts = Parts(folder, clock=SystemClock())
        self._cache = self._parts.state.lookup_cache
        if front is not None:
            self._cache.topic_answers.use(front.store)
        self._rows = [base_topic(index) for index in range(topics)]
        self._changes = 0
        self._brokers = [self._connect() for _ in BASE_BROKERS]
        for joined, broker in zip(self._brokers, BASE_BROKERS, strict=True):
            self._longest(joined, registration(broker, self._rows, compressed=False))
        self._look_ups = [
            encode_command(request(105, {"topic": name}, opaque=1 + at % 1_000))
            for at, (name, _, _) in enumerate(self._rows)
        ]

    def ask_for_all(self) -> None:
        """Ask for each topic, so that it is known."""
        client = self._connect()
        for look_up in self._look_ups:
            client.deliver(look_up)
        if len(self._cache.topics) < len(self._rows):
            raise SystemExit("there is no room for so many topics: not all are known")

    def forget_all(self) -> None:
        """Have nothing known."""
        state = self._parts.state
        state.route_answers.reconfigure(state.settings)

    def change(self) -> float:
        """Have a broker change the queues of all its topics; return the seconds of the longest turn."""
        self._changes += 1
        queues = 1 + self._changes % 2
        rows = [(name, queues, queues) for name, _, _ in self._rows]
        return self._register(rows)

    def leave(self) -> float:
        """Have it unregister."""
        return self._longest(self._brokers[0], goodbye(BASE_BROKERS[0]))

    def come_back(self) -> float:
        """Have it register as at first."""
        self._changes += 1
        return self._register(self._rows)

    def _register(self, rows: list[Topic]) -> float:
        data = registration(BASE_BROKERS[0], rows, compressed=False, changes=self._changes)
        return self._longest(self._brokers[0], data)

    def _longest(self, joined: Joined, data: bytes) -> float:
        took = [
            _seconds(partial(_deliver, joined, data[start : start + READS * READ_BYTES]))
            for start in range(0, len(data), READS * READ_BYTES)
        ]
        while self._parts.turns:
            took.append(_seconds(self._parts.turns.pop(0)))
        return max(took)

    def _connect(self) -> Joined:
        return Joined(self._parts.requests, lookup_cache=self._cache)


def _deliver(joined: Joined, data: bytes) -> None:
    for start in range(0, len(data), READ_BYTES):
        joined.deliver(data[start : start + READ_BYTES])


def _seconds(act: Callable[[], object]) -> float:
    before = time.thread_time()
    act()
    return time.thread_time() - before


if __name__ == "__main__":
    main()
