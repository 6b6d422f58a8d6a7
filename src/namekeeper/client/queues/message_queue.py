"""A queue of a topic as producers and consumers name it, in the order in which Java sorts queues."""

import re

from msgspec import Struct

from namekeeper.model.spelled_struct import SpelledStruct

__all__ = ["MessageQueue", "java_order", "java_split", "parse_java_int"]


_INT = re.compile(r"[+-]?\d+")
_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1


def java_order(text: str) -> bytes:
    """Sort key that puts strings in the order of Java's `compareTo`: by UTF-16 units, not by characters."""
    return text.encode("utf-16-be", "surrogatepass")


def java_split(text: str, separator: str) -> list[str]:
    """Split as Java's `String.split` does: empty parts at the end are dropped, others are kept."""
    if separator not in text:
        return [text]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def parse_java_int(text: str) -> int:
    """Read a number as `Integer.parseInt` does: a sign and digits, nothing around them, 32 bits.

    Raises:
        ValueError: It is not such a number.
    """
    if not _INT.fullmatch(text) or not _INT_MIN <= int(text) <= _INT_MAX:
        raise ValueError(f"not a 32-bit number: {text!r}")
    return int(text)


class MessageQueue(Struct, frozen=True, gc=False, metaclass=SpelledStruct):
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
