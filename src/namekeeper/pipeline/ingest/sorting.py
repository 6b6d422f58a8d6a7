"""Sorts the segments of a batch: clean ones go directly into the facts, others need a repair."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.ingest.ledger import BootKey, Ledger, LoadedBoot, RecordRange, overlapping
from namekeeper.pipeline.ingest.segment_counts import SegmentCount, is_clean, is_complete
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["Sorted", "sort_segments"]


class Sorted(NamedTuple):
    """Segments of a batch: complete or not, and, if something was read, clean or damaged."""

    clean: Sequence[Segment]
    """Complete segments without cut changes and overlap: all their records are new."""
    damaged: Sequence[Segment]
    """The others with at least one read record."""
    complete: Sequence[Segment]
    """Segments with every record that the name promises."""
    incomplete: Sequence[Segment]
    """Segments in which something is missing or contradicts the name."""
    parts: Sequence[RecordRange]
    """Ranges of records that were read from incomplete segments."""
    boots: Collection[BootKey]
    """Boots that have records in damaged segments."""
    with_foreign: Sequence[Segment] = ()
    """Damaged segments with records of another name server or boot than in their name; those are not
    taken."""


def sort_segments(segments: Sequence[Segment], counts: Mapping[str, SegmentCount], ledger: Ledger) -> Sorted:
    """Sort the segments of a batch.

    Args:
        segments: The listed new segments.
        counts: Counts of what was read, by name of the segment.
        ledger: The records that are in the warehouse already.
    """
    touching = overlapping(ledger, _ranges(segments, counts))
    clean, damaged, complete, incomplete = list[Segment](), list[Segment](), list[Segment](), list[Segment]()
    boots: set[BootKey] = set()
    for segment in segments:
        count = counts.get(segment.file, SegmentCount())
        is_all = is_complete(segment, count)
        (complete if is_all else incomplete).append(segment)
        waits = ledger.boots.get(segment.boot_key, LoadedBoot()).waiting
        if is_all and is_clean(segment, count) and segment.file not in touching and not waits:
            clean.append(segment)
        elif count.boots:
            damaged.append(segment)
            boots |= {segment.boot_key for _ in count.own(segment).boots}
    parts = list(_ranges(incomplete, counts))
    with_foreign = [each for each in damaged if counts[each.file].own(each) != counts[each.file]]
    return Sorted(clean, damaged, complete, incomplete, parts, boots, with_foreign)


def _ranges(segments: Sequence[Segment], counts: Mapping[str, SegmentCount]) -> Iterator[RecordRange]:
    """Ranges of the read records, whatever the name promises: a file may have been renamed."""
    for segment in segments:
        for group in counts.get(segment.file, SegmentCount()).own(segment).boots:
            yield RecordRange(segment.boot_key, group.first_seq, group.last_seq, segment.file)
