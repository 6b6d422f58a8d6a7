"""The broker names that may have a topic: an index beside the topic tables that misses no such name.

A registration enters its topics before its rows become visible, and a removal takes them out after its rows
are gone. So a name in the index only *may* have the topic: every reader looks up the row in the current table
of the name. Only `RouteTables` changes the index.

Broker names are bits of a number for each topic: one of 300 names added to 10,000 topics sets 10,000 bits,
where tuples of names would be copied 10,000 times.

Topics lie in many small dicts: one dict of three million would stop the server for 400 ms whenever it grows.
Dicts double, so the largest has twice the topics of the smallest: dicts of one size would all grow within the
same few registrations.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, compress, repeat

from msgspec import Struct

__all__ = ["TopicIndex"]

SHARDS = 64
"""A shard of three million topics grows in about 6 ms."""
SLOTS = sum(range(SHARDS, 2 * SHARDS))
"""Hashes modulo this number belong to shards: 64 of them to the first, 65 to the next, 127 to the last."""

MAX_MASKS = 4_096
"""Sets of broker names that are kept as names; a cluster has a few dozen."""


class _IndexEntry(Struct, gc=False):
    topic: str
    """The one string of this topic, for the index and all tables."""
    mask: int
    """A bit for each broker name that may have it."""


class TopicIndex:
    """Topic -> broker names that may have it, in the order of the names: equal states give equal answers."""

    __slots__ = ("_bit_by_name", "_counts", "_names", "_names_by_mask", "_shards", "_slots")

    def __init__(self) -> None:
        self._shards: tuple[dict[str, _IndexEntry], ...] = tuple({} for _ in range(SHARDS))
        slots = (repeat(shard, SHARDS + number) for number, shard in enumerate(self._shards))
        self._slots = tuple(chain.from_iterable(slots))
        """The shard of each hash modulo `SLOTS`."""
        self._bit_by_name: dict[str, int] = {}
        self._names: list[str] = []
        """Broker name of each bit; "" if the bit is free."""
        self._counts: dict[str, int] = {}
        """Broker name -> number of topics that it may have; its bit becomes free at 0."""
        self._names_by_mask: dict[int, tuple[str, ...]] = {}
        """A cache: mask -> broker names, sorted; cleared when a bit gets another name."""

    def __len__(self) -> int:
        return sum(map(len, self._shards))

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._shards)

    def shards(self) -> Iterator[tuple[str, ...]]:
        """Topics, shard by shard; each copy is made on demand, so changes in between do no harm."""
        return map(tuple, self._shards)

    @property
    def name_count(self) -> int:
        """Number of broker names that may have topics."""
        return len(self._counts)

    def names(self, topic: str) -> tuple[str, ...]:
        """Broker names that may have `topic`, sorted."""
        entry = self._slots[hash(topic) % SLOTS].get(topic)
        if entry is None:
            return ()
        mask = entry.mask
        return self._names_by_mask.get(mask) or self._names_of(mask)

    def count(self, topic: str) -> int:
        """Number of `names`, in constant time."""
        entry = self._slots[hash(topic) % SLOTS].get(topic)
        return 0 if entry is None else entry.mask.bit_count()

    def some_name(self, topic: str) -> str | None:
        """Any of `names`, found in constant time; None if there is none."""
        entry = self._slots[hash(topic) % SLOTS].get(topic)
        if entry is None:
            return None
        mask = entry.mask
        return self._names[(mask & -mask).bit_length() - 1]

    def add(self, topics: Iterable[str], broker_name: str) -> list[str]:
        """Note that `broker_name` may have `topics`; return each as the one string that all tables use."""
        slots = self._slots
        bit = self._bit_by_name.get(broker_name) or self._new_bit(broker_name)
        shared = []
        present = 0
        for topic in topics:
            shard = slots[hash(topic) % SLOTS]
            entry = shard.get(topic)
            if entry is None:
                entry = shard[topic] = _IndexEntry(topic, bit)
            elif entry.mask & bit:
                present += 1
            else:
                entry.mask |= bit
            shared.append(entry.topic)
        self._count(broker_name, len(shared) - present)
        return shared

    def discard(self, topics: Iterable[str], broker_name: str) -> None:
        """Note that `broker_name` does not have `topics`."""
        bit = self._bit_by_name.get(broker_name, 0)
        gone = 0
        for topic in topics:
            shard = self._slots[hash(topic) % SLOTS]
            entry = shard.get(topic)
            if entry is not None and entry.mask & bit:
                gone += 1
                entry.mask ^= bit
                if not entry.mask:
                    del shard[topic]
        if bit:
            self._count(broker_name, -gone)

    def _names_of(self, mask: int) -> tuple[str, ...]:
        if len(self._names_by_mask) >= MAX_MASKS:
            self._names_by_mask.clear()
        bits = map("0".__ne__, reversed(f"{mask:b}"))  # not bit by bit: each step would copy a mask of 2 KB
        self._names_by_mask[mask] = found = tuple(sorted(compress(self._names, bits)))
        return found

    def _new_bit(self, broker_name: str) -> int:
        if "" in self._names:
            position = self._names.index("")
            self._names[position] = broker_name
        else:
            position = len(self._names)
            self._names.append(broker_name)
        self._counts[broker_name] = 0
        self._names_by_mask.clear()
        bit = self._bit_by_name[broker_name] = 1 << position
        return bit

    def _count(self, broker_name: str, more: int) -> None:
        """Count topics of a name; the bit of a name without topics becomes free."""
        self._counts[broker_name] += more
        if not self._counts[broker_name]:
            del self._counts[broker_name]
            bit = self._bit_by_name.pop(broker_name)
            self._names[bit.bit_length() - 1] = ""
