"""Shares that follow where brokers and consumers stand."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TypeVar

from namekeeper.client.allocation.strategy import AllocateMessageQueueStrategy, check_allocation
from namekeeper.client.java_text import java_order, java_split
from namekeeper.client.message_queue import MessageQueue
from namekeeper.errors import AllocationError

__all__ = ["AllocateMachineRoomNearby", "AllocateMessageQueueByMachineRoom"]

T = TypeVar("T", bound=Hashable)


class AllocateMessageQueueByMachineRoom:
    """Equal shares of the queues of some machine rooms; other queues are given to nobody.

    A broker's room is what stands before the `@` of its name, as in `room-1@broker-a`.

    Args:
        consumer_idcs: The machine rooms from which this group consumes.
    """

    name = "MACHINE_ROOM"

    def __init__(self, consumer_idcs: Collection[str]) -> None:
        self._consumer_idcs = frozenset(consumer_idcs)

    def allocate(
        self, current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of one consumer."""
        if not check_allocation(current_cid, mq_all, cid_all):
            return []
        near = [queue for queue in mq_all if self._is_near(queue.broker_name)]
        index, consumers = cid_all.index(current_cid), len(cid_all)
        size = len(near) // consumers
        left = size * consumers + index  # one queue of those that are left over, if there are as many
        return near[index * size : (index + 1) * size] + near[left : left + 1]

    def _is_near(self, broker_name: str) -> bool:
        parts = java_split(broker_name, "@")
        return len(parts) == 2 and parts[0] in self._consumer_idcs


class AllocateMachineRoomNearby:
    """Queues go to consumers of their own machine room; those of rooms without consumers go to all.

    Args:
        strategy: How queues are shared within a room, and among all.
        broker_deploy_in: The machine room of a queue's broker.
        consumer_deploy_in: The machine room of a consumer.
    """

    def __init__(
        self,
        strategy: AllocateMessageQueueStrategy,
        broker_deploy_in: Callable[[MessageQueue], str],
        consumer_deploy_in: Callable[[str], str],
    ) -> None:
        self._strategy = strategy
        self._broker_deploy_in = broker_deploy_in
        self._consumer_deploy_in = consumer_deploy_in

    @property
    def name(self) -> str:
        """Java's `getName()`."""
        return f"MACHINE_ROOM_NEARBY-{self._strategy.name}"

    def allocate(
        self, current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of one consumer: those of its own room first, then by room.

        Raises:
            AllocationError: An argument is empty, or the room of a queue or consumer is.
        """
        if not check_allocation(current_cid, mq_all, cid_all):
            return []
        queues = _by_room(mq_all, self._broker_deploy_in)
        consumers = _by_room(cid_all, self._consumer_deploy_in)
        own = self._consumer_deploy_in(current_cid)
        allocated: list[MessageQueue] = []
        if own in queues:
            allocated += self._strategy.allocate(current_cid, queues[own], consumers[own])
        for room in sorted(queues.keys() - consumers.keys(), key=java_order):
            allocated += self._strategy.allocate(current_cid, queues[room], cid_all)
        return allocated


def _by_room(placed: Iterable[T], room_of: Callable[[T], str]) -> dict[str, list[T]]:
    rooms: defaultdict[str, list[T]] = defaultdict(list)
    for one in placed:
        room = room_of(one)
        if not room:
            raise AllocationError(f"the resolver names no machine room for {one}")
        rooms[room].append(one)
    return rooms
