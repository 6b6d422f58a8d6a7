"""Chooses the queue of the next message: round robin, and not at the broker that just failed.

This is protocol.md 7.7 without latency fault tolerance. A counter gives the next queue. It belongs to the
caller, who makes one for each topic. It is the only state: with a given start or a seeded random, choices can
be repeated.
"""

import threading
from collections.abc import Callable, Sequence
from random import Random

from namekeeper.client.queues.message_queue import MessageQueue

__all__ = ["QueueFilter", "ThreadLocalIndex", "avoiding", "select_filtered", "select_one_message_queue"]

QueueFilter = Callable[[MessageQueue], bool]

_MASK = 0x7FFF_FFFF


class ThreadLocalIndex(threading.local):
    """A counter of 31 bits, one for each thread (`sendWhichQueue` in Java).

    4.8 counts in the same way, but alternates between two numbers once it reached the largest; not so here.

    Args:
        random: The source of the first number of a thread.
        start: The first number, instead of a random one.
    """

    def __init__(self, random: Random, start: int | None = None) -> None:
        self._random = random
        self._value = random.getrandbits(32) if start is None else start

    def increment_and_get(self) -> int:
        """Count on and return the number, 0 to 2^31 - 1."""
        self._value += 1
        return self._value & _MASK

    def reset(self) -> None:
        """Set a random number, so that the retries of many producers don't all go to the same queue."""
        self._value = self._random.randrange(_MASK)


def select_one_message_queue(
    queues: Sequence[MessageQueue], index: ThreadLocalIndex, last_broker_name: str | None = None
) -> MessageQueue | None:
    """Return the next queue; after a failure, the next one of another broker if there is any.

    Args:
        queues: The queues that take turns.
        index: Whose turn it is.
        last_broker_name: The broker at which the last attempt failed; None at the first attempt.

    Returns:
        The queue to send to; None if there are no queues.
    """
    if last_broker_name is not None:
        other = select_filtered(queues, index, avoiding(last_broker_name))
        if other is not None:
            return other
    return select_filtered(queues, index)


def select_filtered(
    queues: Sequence[MessageQueue], index: ThreadLocalIndex, *filters: QueueFilter
) -> MessageQueue | None:
    """Return the next queue that passes every filter, or None after one whole round."""
    for _ in queues:
        queue = queues[index.increment_and_get() % len(queues)]
        if all(passes(queue) for passes in filters):
            return queue
    return None


def avoiding(broker_name: str | None) -> QueueFilter:
    """Return a filter that rejects the queues of this broker; without a name it accepts all."""
    return lambda queue: queue.broker_name != broker_name
