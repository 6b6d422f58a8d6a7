"""Which records are in the warehouse, as ranges of `seq`; what is new in a listing is found by subtraction.

A life is a boot of a journal, (namesrv, uuid8, boot). A segment is known if the ranges of its life cover it,
whatever its file is called or how it was cut, compressed or shipped. A segment that could not be read whole
adds no range; it is known by its size as well, so that a better copy of it is read.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.contract import VERSION
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.ingest.segments import Segment

__all__ = [
    "Ledger",
    "Life",
    "LifeKey",
    "Range",
    "Stretch",
    "Tried",
    "covers",
    "merged",
    "overlapping",
    "touches",
]

LifeKey = tuple[str, str, int]
"""(namesrv, uuid8, boot)."""
Range = tuple[int, int]
"""The first and last seq of records that are in."""


class Stretch(NamedTuple):
    """Records that a file has, from the first to the last."""

    key: LifeKey
    first_seq: int
    last_seq: int
    file: str


class Life(NamedTuple):
    """What is in of one boot of one journal."""

    ranges: tuple[Range, ...] = ()
    """In order, apart from each other."""
    parts: tuple[Range, ...] = ()
    """In order: records of segments that were not whole are somewhere in these."""
    last_ts: int = 0
    """The largest `ts`, ms."""
    waiting: bool = False
    """Whether records of unfinished changes are in `incomplete`."""


class Tried(NamedTuple):
    """A file that could not be read whole."""

    key: LifeKey
    first_seq: int
    last_seq: int
    size: int
    contract: int
    """Version of the contract that the reader knew."""

    @classmethod
    def of(cls, segment: Segment) -> "Tried":
        """The entry for a segment as this code reads it."""
        return cls(segment.life, segment.first_seq, segment.last_seq, segment.size or 0, VERSION)


class Ledger(NamedTuple):
    """What is in."""

    lives: Mapping[LifeKey, Life] = {}
    tried: Collection[Tried] = frozenset()
    refused: Collection[tuple[str, str]] = frozenset()
    """Journals, (namesrv, uuid8), that the user has said are not to be taken."""

    @property
    def records(self) -> int:
        """How many records are in."""
        return sum(last - first + 1 for life in self.lives.values() for first, last in life.ranges)

    def new(self, segments: Iterable[Segment], sized: Callable[[Segment], Segment]) -> list[Segment]:
        """Segments that hold something that is not in, in order, without those that others of them cover.

        Of several copies one is taken; if it turns out not to be whole, the next call gives the next.

        Args:
            segments: What was listed.
            sized: Gives a segment its size, if it has none yet.
        """
        not_in = [sized(segment) for segment in segments if not self._knows(segment)]
        unknown = [segment for segment in not_in if Tried.of(segment) not in self.tried]
        chosen: list[Segment] = []
        taken: dict[LifeKey, tuple[Range, ...]] = {}
        for segment in sorted(unknown, key=_widest_first):
            ranges = taken.get(segment.life, ())
            if not covers(ranges, (segment.first_seq, segment.last_seq)):
                chosen.append(segment)
                taken[segment.life] = merged((*ranges, (segment.first_seq, segment.last_seq)))
        return chosen

    def with_segments(
        self, whole: Iterable[Segment], parts: Iterable[Stretch], tried: Iterable[Segment]
    ) -> "Ledger":
        """The ledger after segments were read.

        Args:
            whole: Those of which every record was read.
            parts: What was read of the others.
            tried: Those of the others that need not be read again.
        """
        ranges: dict[LifeKey, list[Range]] = {}
        for segment in whole:
            ranges.setdefault(segment.life, []).append((segment.first_seq, segment.last_seq))
        pieces: dict[LifeKey, list[Range]] = {}
        for stretch in parts:
            pieces.setdefault(stretch.key, []).append((stretch.first_seq, stretch.last_seq))
        lives = dict(self.lives)
        for key in ranges.keys() | pieces.keys():
            life = lives.get(key, Life())
            lives[key] = life._replace(
                ranges=merged((*life.ranges, *ranges.get(key, ()))),
                parts=merged((*life.parts, *pieces.get(key, ()))),
            )
        return self._replace(
            lives=lives, tried=frozenset(self.tried) | {Tried.of(segment) for segment in tried}
        )

    def with_times(self, last_ts: Mapping[LifeKey, int]) -> "Ledger":
        """The ledger after records with these largest `ts` came in."""
        lives = dict(self.lives)
        for key, ts in last_ts.items():
            life = lives.get(key, Life())
            lives[key] = life._replace(last_ts=max(ts, life.last_ts))
        return self._replace(lives=lives)

    def with_waiting(self, looked_at: Iterable[LifeKey], waiting: Collection[LifeKey]) -> "Ledger":
        """The ledger after unfinished changes of some lives were looked for."""
        lives = dict(self.lives)
        for key in looked_at:
            lives[key] = lives.get(key, Life())._replace(waiting=key in waiting)
        return self._replace(lives=lives)

    def to_json(self) -> bytes:
        """As it is written."""
        lives = [[*key, *life] for key, life in sorted(self.lives.items())]
        tried = [[*entry.key, *entry[1:]] for entry in sorted(self.tried)]
        members = {"lives": lives, "tried": tried, "refused": sorted(self.refused)}
        return json.dumps(members, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> "Ledger":
        """A ledger that was written.

        Raises:
            WarehouseError: It is damaged.
        """
        try:
            members = json.loads(data)
            lives = {
                (namesrv, uuid8, boot): Life(_ranges(ranges), _ranges(parts), last_ts, waiting)
                for namesrv, uuid8, boot, ranges, parts, last_ts, waiting in members["lives"]
            }
            tried = frozenset(Tried((entry[0], entry[1], entry[2]), *entry[3:]) for entry in members["tried"])
            refused = frozenset((namesrv, uuid8) for namesrv, uuid8 in members["refused"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise WarehouseError(
                "the ledger is damaged; delete its file, it is rebuilt from the facts"
            ) from error
        return cls(lives, tried, refused)

    def _knows(self, segment: Segment) -> bool:
        """Whether a segment is in, or must not be."""
        if self.refused and segment.life[:2] in self.refused:
            return True
        life = self.lives.get(segment.life)
        return life is not None and covers(life.ranges, (segment.first_seq, segment.last_seq))


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The same numbers in as few ranges as can be, in order."""
    result: list[Range] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)


def covers(ranges: Sequence[Range], wanted: Range) -> bool:
    """Whether ranges, in order and apart, hold every number of `wanted`."""
    at = bisect_right(ranges, wanted[0], key=lambda each: each[0]) - 1
    return at >= 0 and wanted[1] <= ranges[at][1]


def touches(ranges: Sequence[Range], wanted: Range) -> bool:
    """Whether ranges, in order and apart, hold any number of `wanted`."""
    at = bisect_right(ranges, wanted[1], key=lambda each: each[0]) - 1
    return at >= 0 and wanted[0] <= ranges[at][1]


def overlapping(ledger: Ledger, stretches: Iterable[Stretch]) -> set[str]:
    """Files of which a stretch shares a seq with one of another file, or with what is in."""
    found: set[str] = set()
    furthest: dict[LifeKey, Stretch] = {}
    for stretch in sorted(stretches, key=lambda each: (each.key, each.first_seq, -each.last_seq)):
        life = ledger.lives.get(stretch.key, Life())
        if touches(merged((*life.ranges, *life.parts)), (stretch.first_seq, stretch.last_seq)):
            found.add(stretch.file)
        before = furthest.get(stretch.key)
        if before is not None and stretch.first_seq <= before.last_seq:
            found |= {before.file, stretch.file}
        if before is None or stretch.last_seq > before.last_seq:
            furthest[stretch.key] = stretch
    return found


def _ranges(members: Iterable[Sequence[int]]) -> tuple[Range, ...]:
    return tuple((first, last) for first, last in members)


def _widest_first(segment: Segment) -> tuple[LifeKey, int, int, int, str, str]:
    """Order in which a segment stands before those that it covers; of copies the largest file is first."""
    size = segment.size or 0
    return segment.life, segment.first_seq, -segment.last_seq, -size, segment.journal, segment.path
