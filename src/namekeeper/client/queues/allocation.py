"""How the consumers of a group share the queues of a topic (protocol.md 7.8): Java's strategies, pure."""

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from namekeeper.client.queues.message_queue import MessageQueue, java_order, java_split
from namekeeper.errors import AllocationError

__all__ = [
    "AllocateMachineRoomNearby",
    "AllocateMessageQueueAveragely",
    "AllocateMessageQueueAveragelyByCircle",
    "AllocateMessageQueueByConfig",
    "AllocateMessageQueueByMachineRoom",
    "AllocateMessageQueueConsistentHash",
    "AllocateMessageQueueStrategy",
    "check_allocation",
]


class AllocateMessageQueueStrategy(Protocol):
    """Shares queues among consumers.

    Every consumer of a group computes its own share, so all must use the same arguments: complete and sorted
    `mq_all` and `cid_all`, and the same strategy.
    """

    @property
    def name(self) -> str:
        """Java's `getName()`."""
        ...

    def allocate(
        self, current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of one consumer.

        Args:
            current_cid: The consumer.
            mq_all: The queues to share, sorted.
            cid_all: The consumers of the group, sorted as Java sorts strings; the first of equal ones counts.

        Raises:
            AllocationError: An argument is empty.
        """
        ...


def check_allocation(current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]) -> bool:
    """Say whether the consumer is one of the group; it gets nothing if it is not.

    Raises:
        AllocationError: An argument is empty.
    """
    if not current_cid:
        raise AllocationError("the consumer has no id (current_cid is empty)")
    if not mq_all:
        raise AllocationError(f"no queues to share for consumer {current_cid!r} (mq_all is empty)")
    if not cid_all:
        raise AllocationError(f"consumer {current_cid!r} is in a group without consumers (cid_all is empty)")
    return current_cid in cid_all


class AllocateMessageQueueAveragely:
    """Each consumer gets consecutive queues; the first consumers get one more. Java's default."""

    name = "AVG"

    def allocate(
        self, current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of one consumer."""
        if not check_allocation(current_cid, mq_all, cid_all):
            return []
        index = cid_all.index(current_cid)
        size, left = divmod(len(mq_all), len(cid_all))
        start = index * size + min(index, left)
        return list(mq_all[start : start + size + (index < left)])


class AllocateMessageQueueAveragelyByCircle:
    """Queues are given to the consumers one by one, in turn."""

    name = "AVG_BY_CIRCLE"

    def allocate(
        self, current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of one consumer."""
        if not check_allocation(current_cid, mq_all, cid_all):
            return []
        return list(mq_all[cid_all.index(current_cid) :: len(cid_all)])


class AllocateMessageQueueByConfig:
    """The consumer gets the configured queues, whether or not they exist, and whatever other consumers get.

    Args:
        message_queues: The queues of this consumer.
    """

    name = "CONFIG"

    def __init__(self, message_queues: Sequence[MessageQueue]) -> None:
        self._message_queues = tuple(message_queues)

    def allocate(
        self,
        current_cid: str,  # noqa: ARG002 every strategy has the same signature
        mq_all: Sequence[MessageQueue],  # noqa: ARG002
        cid_all: Sequence[str],  # noqa: ARG002
    ) -> list[MessageQueue]:
        """Return the configured queues."""
        return list(self._message_queues)


T = TypeVar("T", bound=Hashable)


class AllocateMessageQueueByMachineRoom:
    """Equal shares of the queues of some machine rooms; no consumer gets other queues.

    A broker's room is the part before the `@` of its name, as in `room-1@broker-a`.

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
        left = size * consumers + index  # one of the remaining queues, if there are enough
        return near[index * size : (index + 1) * size] + near[left : left + 1]

    def _is_near(self, broker_name: str) -> bool:
        parts = java_split(broker_name, "@")
        return len(parts) == 2 and parts[0] in self._consumer_idcs


class AllocateMachineRoomNearby:
    """Queues go to consumers of the same machine room; queues of rooms without consumers go to all.

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


def _md5_hash(text: str) -> int:
    digest = hashlib.md5(text.encode(errors="replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


class AllocateMessageQueueConsistentHash:
    """Each queue belongs to the consumer that follows its hash on a ring.

    Shares are uneven, the more so the fewer the virtual nodes.

    Args:
        virtual_node_cnt: How many positions each consumer has on the ring.
        hash_function: From a text to a position; the first four bytes of its MD5 unless given.
    """

    name = "CONSISTENT_HASH"

    def __init__(self, virtual_node_cnt: int = 10, hash_function: Callable[[str], int] = _md5_hash) -> None:
        if virtual_node_cnt < 0:
            raise AllocationError(f"virtual_node_cnt is {virtual_node_cnt}; it can't be negative")
        self._virtual_node_cnt = virtual_node_cnt
        self._hash = hash_function

    def allocate(
        self, current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of one consumer."""
        if not check_allocation(current_cid, mq_all, cid_all):
            return []
        ring = self._ring(cid_all)
        positions = sorted(ring)
        if not positions:
            return []
        return [
            queue
            for queue in mq_all
            if ring[positions[bisect_left(positions, self._hash(str(queue))) % len(positions)]] == current_cid
        ]

    def _ring(self, cid_all: Sequence[str]) -> dict[int, str]:
        """Return position -> consumer; a consumer that is listed twice has doubled positions, as in Java."""
        ring: dict[int, str] = {}
        placed: set[str] = set()
        for cid in cid_all:
            first = list(ring.values()).count(cid) if cid in placed else 0
            for replica in range(first, first + self._virtual_node_cnt):
                ring[self._hash(f"{cid}-{replica}")] = cid
            placed.add(cid)
        return ring
