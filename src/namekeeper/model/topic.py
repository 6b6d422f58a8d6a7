"""Topics as brokers register them and as routes show them."""

from enum import IntFlag

from msgspec import Struct, field

from namekeeper.model.spelled_struct import SpelledStruct

__all__ = ["DEFAULT_TOPIC", "QueueData", "QueueSpec", "TopicConfig", "TopicSysFlag"]

DEFAULT_TOPIC = "TBW102"
"""The template for topics that don't exist yet."""


class TopicSysFlag(IntFlag):
    """Bits of `topic_sys_flag` (protocol.md 4.12)."""

    UNIT = 1
    UNIT_SUB = 2


class QueueSpec(Struct, frozen=True, gc=False):
    """The queues of a topic on a broker name."""

    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = 6
    topic_sys_flag: int = 0


class TopicConfig(Struct, frozen=True, rename="camel", metaclass=SpelledStruct):
    """One topic in a broker's registration (protocol.md 3.3)."""

    topic_name: str
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = 6
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: int = 0
    order: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


class QueueData(Struct, frozen=True, gc=False, rename="camel"):
    """The queues of one topic on one broker name, as a route shows them (protocol.md 2.1)."""

    broker_name: str
    perm: int
    read_queue_nums: int
    topic_sys_flag: int
    write_queue_nums: int
