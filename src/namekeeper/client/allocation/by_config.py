"""Queues that are fixed by configuration."""

from collections.abc import Sequence

from namekeeper.client.message_queue import MessageQueue

__all__ = ["AllocateMessageQueueByConfig"]


class AllocateMessageQueueByConfig:
    """The consumer gets the configured queues, whether or not they exist and whoever else is there.

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
