"""Counts the records that were read from each segment, and compares them with what its name promises."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.ingest.records import FILE, PARTITION, REJECTED
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["BootRecords", "SegmentCount", "counts_in", "counts_of", "is_clean", "is_complete", "sums_of"]

_MODULUS = 1 << 16
"""Sums are modulo this, so that they stay small; missing and doubled records still change them."""
_SQUARES = tuple(accumulate((number * number for number in range(_MODULUS)), initial=0))

_COUNTS = (
    "count(*) AS records", "min(seq) AS first_seq", "max(seq) AS last_seq",
    f"sum(seq % {_MODULUS}) AS total", f"sum((seq % {_MODULUS}) * (seq % {_MODULUS})) AS squares",
    "min(change) AS first_change", "coalesce(max_by(end, seq), false) AS ends",
    "count_if(seq = change) AS begins", "count_if(end) AS endings",
    "min(ts) AS first_ts", "max(ts) AS last_ts",
)  # fmt: skip
_COUNTS_IN = (
    ("file", "count"), ("seq", "min"), ("seq", "max"), ("total", "sum"), ("squares", "sum"),
    ("change", "min"), ("end", "last"), ("begins", "sum"), ("end", "sum"), ("ts", "min"), ("ts", "max"),
)  # fmt: skip
"""The same as aggregations of Arrow."""


class BootRecords(NamedTuple):
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


class SegmentCount(NamedTuple):
    """Counts of what was read from one segment."""

    boots: Sequence[BootRecords] = ()
    rejected: int = 0
    """Lines that were rejected."""

    @property
    def records(self) -> int:
        """Records that were read."""
        return sum(group.records for group in self.boots)

    def own(self, segment: Segment) -> "SegmentCount":
        """The counts without records of another name server or boot than that in the segment's name."""
        boots = tuple(group for group in self.boots if (group.namesrv, group.boot) == segment.boot_key[::2])
        return SegmentCount(boots, self.rejected)


def counts_of(records: DataFrame, is_rejected: str) -> Mapping[str, SegmentCount]:
    """Counts by the name of the segment; a segment without any line is left out.

    Args:
        records: Staged records.
        is_rejected: Condition in SQL that tells rejected lines from records.
    """
    marked = records.withColumn("_rejected", fn.expr(is_rejected))
    # Members of a rejected line can't be trusted, so they are no group key.
    keys = [fn.when(~fn.col("_rejected"), fn.col(name)).alias(name) for name in ("namesrv", "boot")]
    counted = marked.groupBy(FILE, "_rejected", *keys).agg(*map(fn.expr, _COUNTS))
    return _by_segment(counted.collect())


def counts_in(records: pa.Table) -> Mapping[str, SegmentCount]:
    """The same counts of records in this process, which have the columns `file` and `_part`."""
    is_rejected = pc.equal(records[PARTITION], REJECTED)
    keys = {name: pc.if_else(is_rejected, None, records[name]) for name in ("namesrv", "boot")}
    seq, end = records["seq"], pc.fill_null(records["end"], fill_value=False)
    rest = pc.bit_wise_and(seq, _MODULUS - 1)
    grouped = {FILE: records[FILE], "_rejected": is_rejected, **keys}
    counted = {
        "seq": seq, "total": rest, "squares": pc.multiply(rest, rest), "change": records["change"],
        "end": end, "begins": pc.equal(seq, records["change"]), "ts": records["ts"],
    }  # fmt: skip
    groups = pa.table(grouped | counted).sort_by("seq").group_by([*grouped], use_threads=False)
    found = groups.aggregate([(name, function) for name, function in _COUNTS_IN])
    names = [*grouped, *(f"{name}_{function}" for name, function in _COUNTS_IN)]
    return _by_segment(zip(*(found[name].to_pylist() for name in names), strict=True))


def _by_segment(counted: Iterable[Sequence[Any]]) -> Mapping[str, SegmentCount]:
    """Counts by segment from rows of its name, whether the lines were rejected, and `BootRecords`."""
    counts: dict[str, SegmentCount] = {}
    for file, rejected, *values in counted:
        count = counts.get(file, SegmentCount())
        if rejected:
            counts[file] = count._replace(rejected=values[2])
        else:
            counts[file] = count._replace(boots=(*count.boots, BootRecords(*values)))
    return counts


def is_complete(segment: Segment, count: SegmentCount) -> bool:
    """Whether a segment held each record that its name promises exactly once, and nothing else."""
    if count.rejected or len(count.boots) != 1:
        return False
    group = count.boots[0]
    promised = (segment.namesrv, segment.boot, segment.records, segment.first_seq, segment.last_seq)
    sums = sums_of(segment.first_seq, segment.last_seq)
    return group[:5] == promised and (group.total, group.squares) == sums


def is_clean(segment: Segment, count: SegmentCount) -> bool:
    """Whether a complete segment begins and ends between changes."""
    group = count.boots[0]
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
