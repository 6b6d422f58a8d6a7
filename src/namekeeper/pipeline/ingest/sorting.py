"""Which segments of a batch can go straight into the facts, and which must be looked at record by record."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.ingest.ledger import Ledger, Life, LifeKey, Stretch, overlapping
from namekeeper.pipeline.ingest.segments import Segment
from namekeeper.pipeline.ingest.tally import Tally, is_straight, is_whole

__all__ = ["Sorted", "sort_segments"]


class Sorted(NamedTuple):
    """Segments of a batch; each is straight or crooked, and whole or not."""

    straight: Sequence[Segment]
    """Whole, of whole changes, apart from all others: their records are new."""
    crooked: Sequence[Segment]
    """The others of which something was read."""
    whole: Sequence[Segment]
    """Every record that the name promises was read."""
    not_whole: Sequence[Segment]
    """Something is missing, or is not what the name says."""
    parts: Sequence[Stretch]
    """What was read of those."""
    lives: Collection[LifeKey]
    """Boots that records of crooked segments are of."""


def sort_segments(segments: Sequence[Segment], tallies: Mapping[str, Tally], ledger: Ledger) -> Sorted:
    """Sort the segments of a batch.

    Args:
        segments: What was listed as new.
        tallies: What was read, by name of the segment.
        ledger: What is in already.
    """
    touching = overlapping(ledger, _stretches(segments, tallies))
    straight, crooked, whole, not_whole = list[Segment](), list[Segment](), list[Segment](), list[Segment]()
    lives: set[LifeKey] = set()
    for segment in segments:
        tally = tallies.get(segment.file, Tally())
        is_all = is_whole(segment, tally)
        (whole if is_all else not_whole).append(segment)
        waits = ledger.lives.get(segment.life, Life()).waiting
        if is_all and is_straight(segment, tally) and segment.file not in touching and not waits:
            straight.append(segment)
        elif tally.groups:
            crooked.append(segment)
            lives |= {(group.namesrv, segment.uuid8, group.boot) for group in tally.groups}
    parts = list(_stretches(not_whole, tallies))
    return Sorted(straight, crooked, whole, not_whole, parts, lives)


def _stretches(segments: Sequence[Segment], tallies: Mapping[str, Tally]) -> Iterator[Stretch]:
    """What the segments hold by what was read, not by their names: a file may have been renamed."""
    for segment in segments:
        for group in tallies.get(segment.file, Tally()).groups:
            life = group.namesrv, segment.uuid8, group.boot
            yield Stretch(life, group.first_seq, group.last_seq, segment.file)
