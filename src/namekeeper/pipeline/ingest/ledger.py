"""Which records are in the warehouse, as ranges of `seq`; what is new in a listing is found by subtraction.

A boot of a journal is identified by (namesrv, uuid8, boot). A segment is in the warehouse if the ranges of
its boot cover it, whatever its file name is and however it was cut, compressed or shipped. A segment that
could not be read completely adds no range. The ledger keeps its size, so that a later run reads a better
copy.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.contract import VERSION
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.ingest.segments import Segment
from namekeeper.pipeline.store.checked_json import decode_checked, encode_checked, is_count, is_text

__all__ = [
    "BootKey",
    "Ledger",
    "LoadedBoot",
    "Range",
    "RecordRange",
    "Tried",
    "covers",
    "merged",
    "overlapping",
    "touches",
]

_DAMAGED = "the ledger is damaged; delete its file, it is rebuilt from the facts"

BootKey = tuple[str, str, int]
"""(namesrv, uuid8, boot)."""
Range = tuple[int, int]
"""The first and last seq of records in the warehouse."""


class RecordRange(NamedTuple):
    """The first and the last record that a file holds of one boot."""

    key: BootKey
    first_seq: int
    last_seq: int
    file: str


class LoadedBoot(NamedTuple):
    """Which records of one boot of one journal are in the warehouse."""

    ranges: tuple[Range, ...] = ()
    """Complete ranges in order; no two touch each other."""
    parts: tuple[Range, ...] = ()
    """Ranges of incomplete segments, in order; some of their records are in the warehouse."""
    last_ts: int = 0
    """The largest `ts`, ms."""
    waiting: bool = False
    """Whether records of unfinished changes are in `incomplete`."""


class Tried(NamedTuple):
    """A file that could not be read whole."""

    key: BootKey
    first_seq: int
    last_seq: int
    size: int
    contract: int
    """Version of the contract that the reader knew."""

    @classmethod
    def of(cls, segment: Segment) -> "Tried":
        """The entry for a segment as this code reads it."""
        return cls(segment.boot_key, segment.first_seq, segment.last_seq, segment.size or 0, VERSION)


class Ledger(NamedTuple):
    """Which records are in the warehouse."""

    boots: Mapping[BootKey, LoadedBoot] = {}
    tried: Collection[Tried] = frozenset()
    refused: Collection[tuple[str, str]] = frozenset()
    """Journals, (namesrv, uuid8), that the user has excluded."""

    @property
    def records(self) -> int:
        """How many records are in."""
        return sum(last - first + 1 for loaded in self.boots.values() for first, last in loaded.ranges)

    def has(self, segment: Segment) -> bool:
        """Whether all records of a segment are in the warehouse."""
        loaded = self.boots.get(segment.boot_key)
        return loaded is not None and covers(loaded.ranges, (segment.first_seq, segment.last_seq))

    def new(self, segments: Iterable[Segment], sized: Callable[[Segment], Segment]) -> list[Segment]:
        """Segments with records that are not in the warehouse yet, in order, without those that others cover.

        Of several copies one is taken; if it is found to be incomplete, the next call gives the next copy.

        Args:
            segments: The listed segments.
            sized: Gives a segment its size, if it has none yet.
        """
        not_in = [sized(segment) for segment in segments if not self._knows(segment)]
        unknown = [segment for segment in not_in if Tried.of(segment) not in self.tried]
        chosen: list[Segment] = []
        taken: dict[BootKey, tuple[Range, ...]] = {}
        for segment in sorted(unknown, key=_widest_first):
            ranges = taken.get(segment.boot_key, ())
            if not covers(ranges, (segment.first_seq, segment.last_seq)):
                chosen.append(segment)
                taken[segment.boot_key] = merged((*ranges, (segment.first_seq, segment.last_seq)))
        return chosen

    def with_segments(
        self, complete: Iterable[Segment], parts: Iterable[RecordRange], tried: Iterable[Segment]
    ) -> "Ledger":
        """The ledger after segments were read.

        Args:
            complete: Segments of which every record was read.
            parts: Ranges that were read from the others.
            tried: The others that need not be read again.
        """
        ranges: dict[BootKey, list[Range]] = {}
        for segment in complete:
            ranges.setdefault(segment.boot_key, []).append((segment.first_seq, segment.last_seq))
        pieces: dict[BootKey, list[Range]] = {}
        for part in parts:
            pieces.setdefault(part.key, []).append((part.first_seq, part.last_seq))
        boots = dict(self.boots)
        for key in ranges.keys() | pieces.keys():
            loaded = boots.get(key, LoadedBoot())
            boots[key] = loaded._replace(
                ranges=merged((*loaded.ranges, *ranges.get(key, ()))),
                parts=merged((*loaded.parts, *pieces.get(key, ()))),
            )
        return self._replace(
            boots=boots, tried=frozenset(self.tried) | {Tried.of(segment) for segment in tried}
        )

    def with_times(self, last_ts: Mapping[BootKey, int]) -> "Ledger":
        """The ledger with the largest `ts` of new records."""
        boots = dict(self.boots)
        for key, ts in last_ts.items():
            loaded = boots.get(key, LoadedBoot())
            boots[key] = loaded._replace(last_ts=max(ts, loaded.last_ts))
        return self._replace(boots=boots)

    def with_waiting(self, looked_at: Iterable[BootKey], waiting: Collection[BootKey]) -> "Ledger":
        """The ledger with the result of a search for unfinished changes of some boots."""
        boots = dict(self.boots)
        for key in looked_at:
            boots[key] = boots.get(key, LoadedBoot())._replace(waiting=key in waiting)
        return self._replace(boots=boots)

    def to_json(self) -> bytes:
        """The ledger as JSON."""
        boots = [[*key, *loaded] for key, loaded in sorted(self.boots.items())]
        tried = [[*entry.key, *entry[1:]] for entry in sorted(self.tried)]
        members = {"lives": boots, "tried": tried, "refused": sorted(self.refused)}
        return encode_checked(members)

    @classmethod
    def from_json(cls, data: bytes) -> "Ledger":
        """Read a ledger from JSON.

        Raises:
            WarehouseError: It is damaged.
        """
        try:
            members = decode_checked(data)
            boots = {
                (namesrv, uuid8, boot): LoadedBoot(_ranges(ranges), _ranges(parts), last_ts, waiting)
                for namesrv, uuid8, boot, ranges, parts, last_ts, waiting in members["lives"]
            }
            tried = frozenset(Tried((entry[0], entry[1], entry[2]), *entry[3:]) for entry in members["tried"])
            refused = frozenset((namesrv, uuid8) for namesrv, uuid8 in members["refused"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise WarehouseError(_DAMAGED) from error
        ledger = cls(boots, tried, refused)
        if not _is_usable(ledger):
            raise WarehouseError(_DAMAGED)
        return ledger

    def _knows(self, segment: Segment) -> bool:
        """Whether a segment is in the warehouse, or excluded."""
        return (bool(self.refused) and segment.boot_key[:2] in self.refused) or self.has(segment)


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The numbers of all ranges in as few ranges as possible, in order."""
    result: list[Range] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)


def covers(ranges: Sequence[Range], wanted: Range) -> bool:
    """Whether ranges, sorted and disjoint, hold every number of `wanted`."""
    at = bisect_right(ranges, wanted[0], key=lambda each: each[0]) - 1
    return at >= 0 and wanted[1] <= ranges[at][1]


def touches(ranges: Sequence[Range], wanted: Range) -> bool:
    """Whether ranges, sorted and disjoint, hold any number of `wanted`."""
    at = bisect_right(ranges, wanted[1], key=lambda each: each[0]) - 1
    return at >= 0 and wanted[0] <= ranges[at][1]


def overlapping(ledger: Ledger, ranges: Iterable[RecordRange]) -> set[str]:
    """Files whose range has a seq in common with that of another file, or of the warehouse."""
    found: set[str] = set()
    furthest: dict[BootKey, RecordRange] = {}
    for wanted in sorted(ranges, key=lambda each: (each.key, each.first_seq, -each.last_seq)):
        loaded = ledger.boots.get(wanted.key, LoadedBoot())
        if touches(merged((*loaded.ranges, *loaded.parts)), (wanted.first_seq, wanted.last_seq)):
            found.add(wanted.file)
        before = furthest.get(wanted.key)
        if before is not None and wanted.first_seq <= before.last_seq:
            found |= {before.file, wanted.file}
        if before is None or wanted.last_seq > before.last_seq:
            furthest[wanted.key] = wanted
    return found


def _is_usable(ledger: Ledger) -> bool:
    """Whether each value has its type."""
    return (
        all(_is_key(key) and _is_loaded(loaded) for key, loaded in ledger.boots.items())
        and all(_is_key(entry.key) and all(map(is_count, entry[1:])) for entry in ledger.tried)
        and all(is_text(part) for journal in ledger.refused for part in journal)
    )


def _is_key(key: BootKey) -> bool:
    return is_text(key[0]) and is_text(key[1]) and is_count(key[2])


def _is_loaded(loaded: LoadedBoot) -> bool:
    ends = (end for ranges in (loaded.ranges, loaded.parts) for each in ranges for end in each)
    return all(map(is_count, ends)) and is_count(loaded.last_ts)


def _ranges(members: Iterable[Sequence[int]]) -> tuple[Range, ...]:
    return tuple((first, last) for first, last in members)


def _widest_first(segment: Segment) -> tuple[BootKey, int, int, int, str, str]:
    """Sort key: a segment comes before those that it covers, and the largest file before its copies."""
    size = segment.size or 0
    return segment.boot_key, segment.first_seq, -segment.last_seq, -size, segment.journal, segment.path
