"""Puts segments of all name servers in order of time, so that no name server gets days ahead of the others.

The name of a segment has no time. To read the first record of each would be many requests. So only some are
read: as many as make each time exact to `EXACT_TO_MS`. Those between are spread evenly.
"""

from collections.abc import Callable, Iterator, Sequence

from namekeeper.pipeline.ingest.ledger import BootKey
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["EXACT_TO_MS", "in_order_of_time"]

EXACT_TO_MS = 6 * 60 * 60 * 1_000
"""A time is at most this wrong, so two name servers are never more than twice this apart."""


def in_order_of_time(segments: Sequence[Segment], first_ts: Callable[[Segment], int]) -> list[Segment]:
    """Segments in order of their first records; those of one boot keep the order of their numbers.

    Args:
        segments: The segments of a boot are in the order of their numbers.
        first_ts: Gives the wall clock of the first record of a segment, ms; 0: it can't be read.
    """
    boots: dict[BootKey, list[Segment]] = {}
    for segment in segments:
        boots.setdefault(segment.boot_key, []).append(segment)
    timed = [
        (ts, key, at, segment)
        for key, ordered in boots.items()
        for at, (ts, segment) in enumerate(zip(_times(ordered, first_ts), ordered, strict=True))
    ]
    return [segment for *_, segment in sorted(timed, key=lambda each: each[:3])]


def _times(ordered: Sequence[Segment], first_ts: Callable[[Segment], int]) -> Iterator[int]:
    """The time of each segment of a boot, ms; it never falls, even if the clock was set back."""
    last = len(ordered) - 1
    start = first_ts(ordered[0]) or ordered[0].boot
    end = max(start, first_ts(ordered[last])) if last else start
    yield start
    waiting = [(last, end)]
    """Later segments with their times, the next one at the end."""
    at = 0
    while waiting:
        until, end = waiting[-1]
        if until - at > 1 and end - start > EXACT_TO_MS:
            middle = (at + until) // 2
            waiting.append((middle, min(end, max(start, first_ts(ordered[middle])))))
            continue
        waiting.pop()
        yield from (start + (end - start) * n // (until - at) for n in range(1, until - at + 1))
        at, start = until, end
