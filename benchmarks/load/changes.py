"""Topics that change while clients look up: so many times a second, by a broker of the fleet."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from benchmarks.load.errors import BenchError
from benchmarks.load.fleet import Fleet
from benchmarks.load.payload import BASE_BROKERS, Broker, Topic, base_topic, registration, topics

__all__ = ["SMALL", "SMALL_TOPICS", "Changes", "change_of_base", "change_of_one", "change_of_small"]

SMALL = Broker("bench-small", "10.0.1.3:9091")
"""A broker whose topics nobody looks up."""
SMALL_TOPICS = topics("SmallTopic", range(10))

Change = Callable[[int], tuple[Broker, Topic]]
"""The number of a change -> whose topic it is, and what it is now."""


def change_of_small(number: int) -> tuple[Broker, Topic]:
    """Give a topic that nobody looks up other queues."""
    name, read, write = SMALL_TOPICS[number % len(SMALL_TOPICS)]
    return SMALL, (name, read + 1 + number % 2, write)


def change_of_base(number: int) -> tuple[Broker, Topic]:
    """Give the next topic that clients look up other queues; its route has as many bytes as before."""
    name, read, write = base_topic(number)
    return BASE_BROKERS[0], (name, 12 - read, 12 - write)


def change_of_one(number: int) -> tuple[Broker, Topic]:
    """Give the first topic that clients look up other queues, and its own again."""
    name, read, write = base_topic(0)
    return BASE_BROKERS[0], (name, read, write) if number % 2 else (name, 12 - read, 12 - write)


class Changes:
    """Sends a change at fixed instants until it is left, each as a registration of one topic."""

    def __init__(self, fleet: Fleet, change: Change, rate: float, *, first: int) -> None:
        """Prepare.

        Args:
            fleet: Has the broker that changes.
            change: What happens.
            rate: Changes a second.
            first: Number of the first change; a server must see growing numbers.
        """
        self.sent = 0
        self._fleet = fleet
        self._change = change
        self._rate = rate
        self._first = first
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._failure: BenchError | OSError | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._send_all()
        except (BenchError, OSError) as failure:
            self._failure = failure

    def _send_all(self) -> None:
        due = time.monotonic() + 0.5 / self._rate
        while not self._is_over.wait(max(0.0, due - time.monotonic())):
            number = self._first + self.sent
            broker, topic = self._change(number)
            self._fleet.send_as(broker, registration(broker, [topic], compressed=False, changes=1 + number))
            self.sent += 1
            due += 1 / self._rate
