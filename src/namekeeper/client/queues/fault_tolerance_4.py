"""Latency fault tolerance of 4.x producers (protocol.md 7.7), for programs that must choose as they do."""

from msgspec.structs import replace

from namekeeper.client.queues.fault_tolerance import (
    FAULT_TABLE_4,
    FaultItem,
    FaultTable,
    LatencyFaultTolerance,
    MQFaultStrategy,
)
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import TopicPublishInfo
from namekeeper.client.queues.selection import (
    ThreadLocalIndex,
    select_filtered,
    select_one_message_queue,
)

__all__ = ["LatencyFaultTolerance4", "MQFaultStrategy4"]


class LatencyFaultTolerance4(LatencyFaultTolerance):
    """The table of 4.x: a later send replaces the record of an earlier one."""

    def update_fault_item(
        self, name: str, current_latency_ms: int, not_available_ms: int, *, reachable: bool, now_ms: int
    ) -> None:
        """Record the result of a send."""
        self._items[name] = FaultItem(current_latency_ms, now_ms + not_available_ms, reachable)

    def pick_least_bad(self, which_item_worst: ThreadLocalIndex, *, now_ms: int) -> str | None:
        """Return the next one of the better half of the noted brokers (`pickOneAtLeast` of 4.x), or None.

        Better is an available one, then a lower latency, then an earlier time of being available, then an
        earlier record.
        """

        def badness(noted: tuple[str, FaultItem]) -> tuple[bool, int, int]:
            _, item = noted
            return now_ms < item.available_at_ms, item.current_latency_ms, item.available_at_ms

        names = [name for name, _ in sorted(self._items.items(), key=badness)]
        if len(names) < 2:
            return names[0] if names else None
        return names[which_item_worst.increment_and_get() % (len(names) // 2)]


class MQFaultStrategy4(MQFaultStrategy):
    """How a producer of 4.x chooses queues.

    With latencies: the next queue that is available; else some queue of one of the less bad brokers; else the
    next. The last broker is not avoided. (Java writes that broker's name into the next queue of its own
    list, which spoils the list; here the list stays as it is.)

    Args:
        which_item_worst: The counter of the next one among the better brokers.
        send_latency_fault_enable: As in MQFaultStrategy.
        table: As in MQFaultStrategy.
    """

    def __init__(
        self,
        which_item_worst: ThreadLocalIndex,
        *,
        send_latency_fault_enable: bool = False,
        table: FaultTable = FAULT_TABLE_4,
    ) -> None:
        self._tolerance = LatencyFaultTolerance4()
        super().__init__(
            send_latency_fault_enable=send_latency_fault_enable, table=table, tolerance=self._tolerance
        )
        self._which_item_worst = which_item_worst

    def select_one_message_queue(
        self,
        info: TopicPublishInfo,
        index: ThreadLocalIndex,
        last_broker_name: str | None = None,
        *,
        reset_index: bool = False,  # noqa: ARG002 4.x has no such thing
        now_ms: int,
    ) -> MessageQueue | None:
        """Return the queue to send to; None if the topic has no queues."""
        queues = info.message_queues
        if not queues or not self.send_latency_fault_enable:
            return select_one_message_queue(queues, index, last_broker_name)
        first = index.increment_and_get()
        for turn in range(first, first + len(queues)):
            queue = queues[turn % len(queues)]
            if self._tolerance.is_available(queue.broker_name, now_ms=now_ms):
                return queue
        return self._of_a_less_bad_broker(info, index, now_ms) or select_filtered(queues, index)

    def _of_a_less_bad_broker(
        self, info: TopicPublishInfo, index: ThreadLocalIndex, now_ms: int
    ) -> MessageQueue | None:
        broker_name = self._tolerance.pick_least_bad(self._which_item_worst, now_ms=now_ms)
        if broker_name is None:  # another thread forgot it meanwhile
            return None
        nums = _write_queue_nums(info, broker_name)
        if nums <= 0:
            self._tolerance.remove(broker_name)
            return None
        index.increment_and_get()  # Java takes the next queue and overwrites it
        queue_id = index.increment_and_get() % nums
        return replace(info.message_queues[0], broker_name=broker_name, queue_id=queue_id)


def _write_queue_nums(info: TopicPublishInfo, broker_name: str) -> int:
    """Return how many write queues the route gives a broker, whether or not it may be written to."""
    queue_datas = info.route.queue_datas if info.route else ()
    return next((data.write_queue_nums for data in queue_datas if data.broker_name == broker_name), 0)
