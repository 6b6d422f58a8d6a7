"""Whether what was read of a segment is all of it."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.pipeline.ingest.segment_counts import (
    BootRecords,
    SegmentCount,
    counts_in,
    is_clean,
    is_complete,
    sums_of,
)
from namekeeper.pipeline.ingest.segments import Segment

MODULUS = 65_536


def group_of(seqs: list[int], **others) -> BootRecords:
    sums = sum(seq % MODULUS for seq in seqs), sum((seq % MODULUS) ** 2 for seq in seqs)
    bounds = (min(seqs), max(seqs)) if seqs else (0, 0)
    return BootRecords("ns", 5, len(seqs), *bounds, *sums, bounds[0], True, 1, 1, 0, 0)._replace(**others)


def segment(first: int, last: int) -> Segment:
    return Segment("ns", "0a1b2c3d", 5, first, last, True, 1, "j", "name")


@given(st.integers(1, 200_000), st.integers(0, 300))
def test_sums_are_those_of_the_numbers(first, more):
    numbers = [number % MODULUS for number in range(first, first + more + 1)]
    assert sums_of(first, first + more) == (sum(numbers), sum(number * number for number in numbers))


@given(st.integers(1, 100_000), st.integers(1, 60), st.data())
def test_any_record_missing_or_twice_is_seen(first, more, data):
    seqs = list(range(first, first + more + 1))
    assert is_complete(segment(first, first + more), SegmentCount((group_of(seqs),)))
    at, other = data.draw(st.integers(0, more)), data.draw(st.integers(0, more))
    if at != other:
        assert not is_complete(
            segment(first, first + more),
            SegmentCount((group_of([*seqs[:at], *seqs[at + 1 :], seqs[other]]),)),
        )
    assert not is_complete(segment(first, first + more), SegmentCount((group_of([*seqs, seqs[at]]),)))


@pytest.mark.parametrize(
    "count",
    [
        SegmentCount(),
        SegmentCount((group_of([1, 2, 3]),), rejected=1),
        SegmentCount((group_of([1, 2, 3], namesrv="other"),)),
        SegmentCount((group_of([1, 2, 3], boot=6),)),
        SegmentCount((group_of([1, 2, 3]), group_of([1], boot=6))),
        SegmentCount((group_of([2, 3, 4]),)),
    ],
)
def test_what_the_name_does_not_promise_is_not_whole(count):
    assert not is_complete(segment(1, 3), count)


def test_a_segment_of_complete_changes_is_clean():
    assert is_clean(segment(1, 3), SegmentCount((group_of([1, 2, 3]),)))
    for wrong in ({"first_change": 0}, {"ends": False}, {"endings": 2}):
        assert not is_clean(segment(1, 3), SegmentCount((group_of([1, 2, 3], **wrong),)))


def test_records_are_counted_over_boots():
    assert SegmentCount((group_of([1, 2]), group_of([5], boot=6))).records == 3


def test_records_in_this_process_are_counted_by_segment_and_boot():
    """The last record of the second boot says nothing about the end of a change, and a line is rejected."""
    columns = ("file", "_part", "namesrv", "boot", "seq", "change", "end", "ts")
    lines = [
        ("a", "kv", "ns", 5, 70_001, 70_000, True, 8),
        ("a", "kv", "ns", 5, 70_000, 70_000, False, 9),
        ("a", "kv", "ns", 6, 3, 3, None, 7),
        ("a", "rejected", "x", None, -1, None, None, None),
        ("b", "rejected", None, 1, None, 4, True, None),
    ]
    table = pa.table(dict(zip(columns, map(list, zip(*lines, strict=True)), strict=True)))
    first = group_of([70_000, 70_001], first_ts=8, last_ts=9)
    second = group_of([3], boot=6, ends=False, endings=0, first_ts=7, last_ts=7)
    found = counts_in(table)
    assert {file: count.rejected for file, count in found.items()} == {"a": 1, "b": 1}
    assert set(found["a"].boots) == {first, second}
    assert found["b"].boots == ()
