"""A queue of a topic as producers and consumers name it: what is sent to, consumed from and shared out."""

from msgspec import Struct

from namekeeper.client.java_text import java_order

__all__ = ["MessageQueue"]


class MessageQueue(Struct, frozen=True, gc=False):
    """One queue; sorted by topic, broker name and queue id, each as Java's `compareTo` sorts them."""

    topic: str
    broker_name: str
    """The broker's name, or the mock name of a scope for a static topic (protocol.md 7.6)."""
    queue_id: int

    def __lt__(self, other: "MessageQueue") -> bool:
        if self.topic != other.topic:
            return java_order(self.topic) < java_order(other.topic)
        if self.broker_name != other.broker_name:
            return java_order(self.broker_name) < java_order(other.broker_name)
        return self.queue_id < other.queue_id

    def __le__(self, other: "MessageQueue") -> bool:
        return not other < self

    def __str__(self) -> str:
        """Text as Java prints it; consistent hashing takes its hash (protocol.md 7.8)."""
        return f"MessageQueue [topic={self.topic}, brokerName={self.broker_name}, queueId={self.queue_id}]"
