"""Shares that hardly change when a consumer comes or goes: consistent hashing."""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Sequence

from namekeeper.client.allocation.strategy import check_allocation
from namekeeper.client.message_queue import MessageQueue
from namekeeper.errors import AllocationError

__all__ = ["AllocateMessageQueueConsistentHash"]


def _md5_hash(text: str) -> int:
    digest = hashlib.md5(text.encode(errors="replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


class AllocateMessageQueueConsistentHash:
    """Each queue belongs to the consumer that follows its hash on a ring.

    Shares are uneven, the more so the fewer the virtual nodes.

    Args:
        virtual_node_cnt: How many places each consumer has on the ring.
        hash_function: From a text to a place; the first four bytes of its MD5 unless given.
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
        places = sorted(ring)
        if not places:
            return []
        return [
            queue
            for queue in mq_all
            if ring[places[bisect_left(places, self._hash(str(queue))) % len(places)]] == current_cid
        ]

    def _ring(self, cid_all: Sequence[str]) -> dict[int, str]:
        """Return who has which place; a consumer that is listed twice has twice as many, as in Java."""
        ring: dict[int, str] = {}
        placed: set[str] = set()
        for cid in cid_all:
            first = list(ring.values()).count(cid) if cid in placed else 0
            for replica in range(first, first + self._virtual_node_cnt):
                ring[self._hash(f"{cid}-{replica}")] = cid
            placed.add(cid)
        return ring
