"""Static topics: their logical queues stay when the broker that stores them changes (protocol.md 3.5)."""

from msgspec import Struct, field

__all__ = ["TopicQueueMappingInfo"]


class TopicQueueMappingInfo(Struct, frozen=True):
    """Which logical queues of a static topic one broker name hosts. Member names are the wire's."""

    bname: str
    curr_id_map: dict[int, int] = field(default_factory=dict, name="currIdMap")
    """Logical queue id -> physical queue id."""
    dirty: bool = False
    epoch: int = 0
    scope: str = "__global__"
    topic: str = ""
    total_queues: int = field(default=0, name="totalQueues")
