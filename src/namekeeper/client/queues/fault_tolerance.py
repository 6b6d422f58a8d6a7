"""Latency fault tolerance of producers: slow and failed brokers get no messages for a while.

As 5.x has it (protocol.md 7.7); `fault_tolerance_4` is the 4.x form. Times are milliseconds of any monotonic
clock.
"""

from random import Random

from msgspec import Struct

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import TopicPublishInfo
from namekeeper.client.queues.selection import (
    ThreadLocalIndex,
    avoiding,
    select_filtered,
    select_one_message_queue,
)

__all__ = [
    "FAULT_TABLE",
    "FAULT_TABLE_4",
    "FaultItem",
    "FaultTable",
    "LatencyFaultTolerance",
    "MQFaultStrategy",
]


class FaultTable(Struct, frozen=True):
    """For how long a broker is not used after a slow send, by its latency; in milliseconds."""

    latency_max: tuple[int, ...]
    not_available_duration: tuple[int, ...]
    """Time for which a broker is not used, for a latency of at least the same item of `latency_max`."""
    isolation_latency: int
    """The latency that counts when a broker is isolated, because a send failed."""

    def not_available_duration_of(self, current_latency_ms: int, *, isolation: bool) -> int:
        """Return for how many milliseconds a broker is not available after this send."""
        latency = self.isolation_latency if isolation else current_latency_ms
        steps = zip(self.latency_max, self.not_available_duration, strict=True)
        return next((duration for least, duration in reversed(list(steps)) if latency >= least), 0)


FAULT_TABLE = FaultTable(
    (50, 100, 550, 1_800, 3_000, 5_000, 15_000), (0, 0, 2_000, 5_000, 6_000, 10_000, 30_000), 10_000
)
"""The table of 5.x."""

FAULT_TABLE_4 = FaultTable(
    (50, 100, 550, 1_000, 2_000, 3_000, 15_000), (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000), 30_000
)
"""The table of 4.x."""


class FaultItem(Struct):
    """The record of one broker that was slow or failed."""

    current_latency_ms: int
    """Latency of the last send."""
    available_at_ms: int = 0
    """The time at which the broker may be used again; `startTimestamp` in Java."""
    reachable: bool = True


class LatencyFaultTolerance:
    """The brokers that were slow or failed, by name; brokers that it does not know are available.

    Several threads may use one.
    """

    def __init__(self) -> None:
        self._items: dict[str, FaultItem] = {}

    def update_fault_item(
        self, name: str, current_latency_ms: int, not_available_ms: int, *, reachable: bool, now_ms: int
    ) -> None:
        """Record the result of a send; it can extend the time of not being available, never shorten it."""
        item = self._items.setdefault(name, FaultItem(current_latency_ms))
        item.current_latency_ms = current_latency_ms
        item.reachable = reachable
        item.available_at_ms = max(item.available_at_ms, now_ms + not_available_ms)

    def is_available(self, name: str, *, now_ms: int) -> bool:
        """Say whether a broker may be used now."""
        item = self._items.get(name)
        return item is None or now_ms >= item.available_at_ms

    def is_reachable(self, name: str) -> bool:
        """Whether the broker answered when it was last tried."""
        item = self._items.get(name)
        return item is None or item.reachable

    def unreachable(self) -> list[str]:
        """Return the brokers that a detector should try to reach (Java's does every 3 s)."""
        return [name for name, item in list(self._items.items()) if not item.reachable]

    def mark_reachable(self, name: str) -> None:
        """Record that a detector reached a broker; its time of not being available is not changed."""
        item = self._items.get(name)
        if item is not None:
            item.reachable = True

    def remove(self, name: str) -> None:
        """Remove the record of a broker, for instance when no route names it any longer."""
        self._items.pop(name, None)

    def pick_one_at_least(self, random: Random) -> str | None:
        """Return a random one of the recorded brokers that are reachable, or None."""
        reachable = [name for name, item in list(self._items.items()) if item.reachable]
        return random.choice(reachable) if reachable else None


class MQFaultStrategy:
    """How a producer chooses queues, and learns from each send.

    Args:
        send_latency_fault_enable: Whether latencies count; else it is round robin away from the last broker.
        table: For how long a broker is not used after a slow send.
        tolerance: The brokers that were slow or failed.
    """

    def __init__(
        self,
        *,
        send_latency_fault_enable: bool = False,
        table: FaultTable = FAULT_TABLE,
        tolerance: LatencyFaultTolerance | None = None,
    ) -> None:
        self.send_latency_fault_enable = send_latency_fault_enable
        self.table = table
        self.tolerance = tolerance or LatencyFaultTolerance()

    def select_one_message_queue(
        self,
        info: TopicPublishInfo,
        index: ThreadLocalIndex,
        last_broker_name: str | None = None,
        *,
        reset_index: bool = False,
        now_ms: int,
    ) -> MessageQueue | None:
        """Return the queue to send to; None if the topic has no queues.

        With latencies: the next queue that is available and not of the last broker, else one that is
        reachable and not of the last broker, else the next.

        Args:
            info: The topic's queues.
            index: The counter of the next queue; one for each topic.
            last_broker_name: The broker at which the last attempt failed; None at the first attempt.
            reset_index: Whether to set the index to a random number first; Java does so on a retry.
            now_ms: The time.
        """
        queues = info.message_queues
        if not self.send_latency_fault_enable:
            return select_one_message_queue(queues, index, last_broker_name)
        if reset_index:
            index.reset()
        tolerance, other = self.tolerance, avoiding(last_broker_name)
        return (
            select_filtered(
                queues, index, lambda queue: tolerance.is_available(queue.broker_name, now_ms=now_ms), other
            )
            or select_filtered(queues, index, lambda queue: tolerance.is_reachable(queue.broker_name), other)
            or select_filtered(queues, index)
        )

    def update_fault_item(
        self,
        broker_name: str,
        current_latency_ms: int,
        *,
        isolation: bool,
        reachable: bool = True,
        now_ms: int,
    ) -> None:
        """Learn from a send.

        Args:
            broker_name: Where it went.
            current_latency_ms: How long it took.
            isolation: Whether the send failed: then the broker is treated as very slow.
            reachable: False after an error of the connection, if a detector will look for the broker again.
            now_ms: The time.
        """
        if self.send_latency_fault_enable:
            duration = self.table.not_available_duration_of(current_latency_ms, isolation=isolation)
            self.tolerance.update_fault_item(
                broker_name, current_latency_ms, duration, reachable=reachable, now_ms=now_ms
            )
