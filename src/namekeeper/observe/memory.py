"""The memory of the tables of observed name servers: any of them may not be what it seems.

Sizes are estimates in bytes. Beyond a limit the state of a name server is unknown, as if it did not answer.
"""

from collections.abc import Iterable, Mapping
from sys import getsizeof

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo

__all__ = [
    "ALL_BYTES",
    "NAMESRV_BYTES",
    "ROW_BYTES",
    "TOPIC_BYTES",
    "MemoryLimits",
    "size_of_brokers",
    "size_of_mapping",
    "size_of_texts",
]

NAMESRV_BYTES = 512 * 1024 * 1024
"""The tables of one name server: about 4,000,000 rows of topics."""
ALL_BYTES = 2 * 1024 * 1024 * 1024
"""The tables of all observed name servers of a process."""

TOPIC_BYTES = 200
"""A topic in the tables and in the schedule. These numbers are rather too large than too small."""
ROW_BYTES = 100
"""A row of a topic; its values are shared."""
_NAME_BYTES, _BROKER_BYTES, _ENTRY_BYTES, _MAPPING_BYTES, _QUEUE_BYTES = 400, 400, 100, 400, 100


class MemoryLimits:
    """Bounds the memory of all observed name servers together.

    Args:
        namesrv_bytes: bounds the tables of one name server.
        all_bytes: bounds all tables.
    """

    def __init__(self, namesrv_bytes: int = NAMESRV_BYTES, all_bytes: int = ALL_BYTES) -> None:
        self._namesrv_bytes, self._all_bytes = namesrv_bytes, all_bytes
        self._sizes: dict[object, int] = {}

    def refuses(self, owner: object, size: int) -> str:
        """Note the size of the tables of a name server; returns why it can't have as much, or an empty text.

        Beyond the limit of all, the largest one has to go.

        Args:
            owner: its observer.
            size: of its tables in bytes.
        """
        self._sizes[owner] = size
        if size > self._namesrv_bytes:
            return f"its topics, brokers and entries take {_mib(size)}, more than {_mib(self._namesrv_bytes)}"
        if sum(self._sizes.values()) > self._all_bytes and size == max(self._sizes.values()):
            return f"all observed name servers take more than {_mib(self._all_bytes)}, it takes most of it"
        return ""

    def release(self, owner: object) -> None:
        """Note that an observer has no tables any more."""
        self._sizes.pop(owner, None)


def size_of_brokers(brokers: Mapping[str, BrokerData], clusters: Mapping[str, Iterable[str]]) -> int:
    """The memory of all brokers and clusters."""
    size = sum(_ENTRY_BYTES for names in clusters.values() for _ in names)
    for name, broker in brokers.items():
        size += _NAME_BYTES + size_of_texts(name, broker.zone_name or "")
        size += sum(_BROKER_BYTES + getsizeof(addr) for addr in broker.broker_addrs.values())
    return size


def size_of_mapping(mapping: TopicQueueMappingInfo | None) -> int:
    """The memory of a mapping; 0 if there is none."""
    if mapping is None:
        return 0
    texts = size_of_texts(mapping.bname, mapping.scope, mapping.topic)
    return _MAPPING_BYTES + texts + _QUEUE_BYTES * len(mapping.curr_id_map)


def size_of_texts(*texts: str) -> int:
    """The memory of some texts, each in a table of its own."""
    return sum(_ENTRY_BYTES + getsizeof(text) for text in texts)


def _mib(size: int) -> str:
    return f"{size >> 20:,} MiB"
