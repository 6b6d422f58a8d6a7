"""Whether what clients saw could be: the history of a register with one writer, checked in full.

The writer writes 1, 2, 3, ... and each write begins after the one before was answered. Then a history is
linearizable if and only if no read shows less than a write that was answered before it began, none shows a
write that began after it was answered, and none shows less than a read that was answered before it began.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Operation", "violations"]


@dataclass(frozen=True, slots=True)
class Operation:
    """A read or a write, from just before it was sent until just after it was answered."""

    begin: float
    end: float
    value: int


def violations(writes: Sequence[Operation], reads: Sequence[Operation]) -> list[str]:
    """Say what can't be; the register begins with 0."""
    return [*_old(writes, reads, "write"), *_old(reads, reads, "read"), *_early(writes, reads)]


def _old(earlier: Iterable[Operation], reads: Iterable[Operation], kind: str) -> Iterable[str]:
    """Reads that show less than an operation that had ended before they began."""
    ended = sorted(earlier, key=lambda each: each.end)
    at = newest = 0
    for read in sorted(reads, key=lambda each: each.begin):
        while at < len(ended) and ended[at].end < read.begin:
            newest = max(newest, ended[at].value)
            at += 1
        if read.value < newest:
            yield f"{read} is older than a {kind} of {newest} that had ended"


def _early(writes: Iterable[Operation], reads: Iterable[Operation]) -> Iterable[str]:
    """Reads that show a write that had not begun, or that there never was."""
    begin_of = {0: float("-inf")} | {write.value: write.begin for write in writes}
    for read in reads:
        if begin_of.get(read.value, float("inf")) > read.end:
            yield f"{read} shows a write that had not begun"
