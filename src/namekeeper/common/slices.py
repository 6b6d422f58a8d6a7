"""Long work as a generator: wherever it yields, an iteration of the event loop may end."""

from bisect import bisect_right
from collections.abc import Generator, Sequence
from typing import TypeVar

__all__ = ["SORTED_SLICE", "run_slices", "sorted_in_slices"]

SORTED_SLICE = 1_000
"""Texts that are sorted, or put into their range, in one slice: about 300 microseconds."""

T = TypeVar("T")


def run_slices(slices: Generator[None, None, T]) -> T:
    """Run all slices at once; return the result."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result


def sorted_in_slices(texts: Sequence[str]) -> Generator[None, None, list[str]]:
    """Sort texts, yielding wherever an event-loop iteration may end.

    Every thousandth text is a limit between two ranges; each range is sorted by itself. The texts must come
    in an order that peers cannot choose, such as that of hashes: otherwise one range may get most of them.
    """
    if len(texts) <= SORTED_SLICE:
        return sorted(texts)
    limits = sorted(texts[::SORTED_SLICE])
    ranges: list[list[str]] = [[] for _ in range(len(limits) + 1)]
    for start in range(0, len(texts), SORTED_SLICE):
        for text in texts[start : start + SORTED_SLICE]:
            ranges[bisect_right(limits, text)].append(text)
        yield
    found: list[str] = []
    for some in ranges:
        found += sorted(some)
        yield
    return found
