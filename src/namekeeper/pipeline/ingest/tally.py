"""What was read of each segment, counted, and whether that is all of it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.ingest.records import FILE
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["Group", "Tally", "is_straight", "is_whole", "sums_of", "tallies_of"]

_MODULUS = 1 << 16
"""Sums are of seq modulo this: they stay small, and records that are missing and doubled still show."""
_SQUARES = tuple(accumulate((number * number for number in range(_MODULUS)), initial=0))

_COUNTS = (
    "count(*) AS records", "min(seq) AS first_seq", "max(seq) AS last_seq",
    f"sum(seq % {_MODULUS}) AS total", f"sum((seq % {_MODULUS}) * (seq % {_MODULUS})) AS squares",
    "min(change) AS first_change", "coalesce(max_by(end, seq), false) AS ends",
    "count_if(seq = change) AS begins", "count_if(end) AS endings",
    "min(ts) AS first_ts", "max(ts) AS last_ts",
)  # fmt: skip


class Group(NamedTuple):
    """Records of one boot in one segment."""

    namesrv: str
    boot: int
    records: int
    first_seq: int
    last_seq: int
    total: int
    """Sum of seq, modulo."""
    squares: int
    """Sum of the squares of seq, modulo."""
    first_change: int
    ends: bool
    """Whether the last record ends a change."""
    begins: int
    """Records that begin a change."""
    endings: int
    """Records that end one."""
    first_ts: int
    last_ts: int


class Tally(NamedTuple):
    """What was read of one segment."""

    groups: Sequence[Group] = ()
    rejected: int = 0
    """Lines that could not be taken."""

    @property
    def records(self) -> int:
        """Records that were read."""
        return sum(group.records for group in self.groups)


def tallies_of(records: DataFrame, is_rejected: str) -> Mapping[str, Tally]:
    """What was read, by name of the segment; a segment of which nothing was read is not in it.

    Args:
        records: Staged records.
        is_rejected: Condition in SQL that tells rejected lines from records.
    """
    marked = records.withColumn("_rejected", fn.expr(is_rejected))
    # What rejected lines say of themselves is nothing to group by.
    keys = [fn.when(~fn.col("_rejected"), fn.col(name)).alias(name) for name in ("namesrv", "boot")]
    counted = marked.groupBy(FILE, "_rejected", *keys).agg(*map(fn.expr, _COUNTS))
    tallies: dict[str, Tally] = {}
    for file, rejected, *values in counted.collect():
        tally = tallies.get(file, Tally())
        if rejected:
            tallies[file] = tally._replace(rejected=values[2])
        else:
            tallies[file] = tally._replace(groups=(*tally.groups, Group(*values)))
    return tallies


def is_whole(segment: Segment, tally: Tally) -> bool:
    """Whether each record that the name of a segment promises was read once, and nothing else was in it."""
    if tally.rejected or len(tally.groups) != 1:
        return False
    group = tally.groups[0]
    promised = (segment.namesrv, segment.boot, segment.records, segment.first_seq, segment.last_seq)
    sums = sums_of(segment.first_seq, segment.last_seq)
    return group[:5] == promised and (group.total, group.squares) == sums


def is_straight(segment: Segment, tally: Tally) -> bool:
    """Whether a whole segment consists of whole changes."""
    group = tally.groups[0]
    return group.first_change == segment.first_seq and group.ends and group.begins == group.endings


def sums_of(first: int, last: int) -> tuple[int, int]:
    """Sum of the numbers, each modulo 65,536, and sum of their squares."""
    return _sum_below(last + 1) - _sum_below(first), _squares_below(last + 1) - _squares_below(first)


def _sum_below(number: int) -> int:
    rounds, rest = divmod(number, _MODULUS)
    return rounds * (_MODULUS * (_MODULUS - 1) // 2) + rest * (rest - 1) // 2


def _squares_below(number: int) -> int:
    rounds, rest = divmod(number, _MODULUS)
    return rounds * _SQUARES[_MODULUS] + _SQUARES[rest]
