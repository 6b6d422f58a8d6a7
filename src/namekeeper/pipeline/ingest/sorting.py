"""Which segments of a batch are clean and go into the facts at once, and which need a repair."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.ingest.ledger import BootKey, Ledger, LoadedBoot, RecordRange, overlapping
from namekeeper.pipeline.ingest.segment_counts import SegmentCount, is_clean, is_complete
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["Sorted", "sort_segments"]


class Sorted(NamedTuple):
    """Segments of a batch: complete or not, and, if something was read, clean or damaged."""

    clean: Sequence[Segment]
    """Complete, without cut changes, and without overlap: all their records are new."""
    damaged: Sequence[Segment]
    """The others of which at least one record was read."""
    complete: Sequence[Segment]
    """Every record that the name promises was read."""
    incomplete: Sequence[Segment]
    """Something is missing, or is not what the name says."""
    parts: Sequence[RecordRange]
    """Ranges of records that were read from incomplete segments."""
    boots: Collection[BootKey]
    """Boots that have records in damaged segments."""
    with_foreign: Sequence[Segment] = ()
    """Damaged ones with records of another name server or boot than their name says; these are not taken."""


def sort_segments(segments: Sequence[Segment], counts: Mapping[str, SegmentCount], ledger: Ledger) -> Sorted:
    """Sort the segments of a batch.

    Args:
        segments: What was listed as new.
        counts: What was read, by name of the segment.
        ledger: What is in already.
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
    """Ranges of the records that were read, whatever the name promises: a file may have been renamed."""
    for segment in segments:
        for group in counts.get(segment.file, SegmentCount()).own(segment).boots:
            yield RecordRange(segment.boot_key, group.first_seq, group.last_seq, segment.file)
