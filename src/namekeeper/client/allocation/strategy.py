"""What an allocation strategy is, and the check that most of Java's begin with."""

from collections.abc import Sequence
from typing import Protocol

from namekeeper.client.message_queue import MessageQueue
from namekeeper.errors import AllocationError

__all__ = ["AllocateMessageQueueStrategy", "check_allocation"]


class AllocateMessageQueueStrategy(Protocol):
    """Shares queues among consumers.

    Every consumer of a group works out its own share, so all must be given the same: `mq_all` and `cid_all`
    whole and sorted, and the same strategy.
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
