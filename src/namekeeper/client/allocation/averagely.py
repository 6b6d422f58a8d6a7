"""Equal shares of queues: neighbours together, or dealt out one by one."""

from collections.abc import Sequence

from namekeeper.client.allocation.strategy import check_allocation
from namekeeper.client.message_queue import MessageQueue

__all__ = ["AllocateMessageQueueAveragely", "AllocateMessageQueueAveragelyByCircle"]


class AllocateMessageQueueAveragely:
    """Each consumer gets neighbouring queues; the first consumers get one more. Java's default."""

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
    """Queues are dealt out one by one, as cards are."""

    name = "AVG_BY_CIRCLE"

    def allocate(
        self, current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of one consumer."""
        if not check_allocation(current_cid, mq_all, cid_all):
            return []
        return list(mq_all[cid_all.index(current_cid) :: len(cid_all)])
