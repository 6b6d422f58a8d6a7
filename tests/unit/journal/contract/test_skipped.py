"""Skipped records that are read together: only if nothing about them matters but their places."""

import msgspec
import pytest

from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.decode import LineProblem, RecordReader
from namekeeper.journal.contract.lines import Line
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope
from namekeeper.journal.contract.skipped import SkippedRecords, skipped_records

SEGMENT = SegmentName(namesrv="n", uuid8="0a1b2c3d", boot=5, first_seq=1)
SKIP = frozenset({"denied"})


def line(seq: int, **members) -> Line:
    record = {
        "kind": "denied", "v": 1, "namesrv": "n", "boot": 5, "seq": seq, "change": seq, "end": True,
        "ts": 100 + seq, "up_ms": seq, "code": 1, "reason": "x", "count": 1, **members,
    }  # fmt: skip
    return Line(seq, with_checksum(msgspec.json.encode(record))[:-1])


def test_the_first_and_the_last_stand_for_all():
    found = skipped_records([line(4), line(5), line(6)], SEGMENT)
    assert (found.first.seq, found.last.seq, found.last.ts) == (4, 6, 106)


def test_lines_without_a_time_are_read_one_by_one():
    lines = [Line(each.number, each.data.replace(b'"ts"', b'"at"')) for each in (line(4), line(5))]
    assert skipped_records(lines, SEGMENT) is None


@pytest.mark.parametrize(
    "other",
    [
        line(6),
        line(5, ts=1),
        line(5, boot=6),
        line(5, namesrv="m"),
        line(5, v=2),
        line(5, end=False),
        line(5, change=4),
        line(5, checkpoint=2),
        Line(5, b'{"kind":"denied"}'),
        Line(5, b'{"kind":"denied"'),
        Line(5, line(5).data + line(6).data),
        Line(5, line(5).data + b"\xff"),
    ],
)
def test_others_are_read_one_by_one(other):
    assert skipped_records([line(4), other], SEGMENT) is None


def places(found) -> list[int]:
    return [each.last.seq if type(each) is SkippedRecords else each.seq for each in found]


@pytest.mark.parametrize(
    "last",
    [line(2**53), line(5, window_ms=106), line(5, window_ms=-1), line(5, checkpoint=-1), line(5, ts=10**15)],
)
def test_numbers_of_a_stranger_are_neither_believed_nor_made_a_list_of(last):
    """The numbers from 4 to 2^53 do not fit into any memory."""
    assert skipped_records([line(4), last], SEGMENT) is None


def test_a_hole_beside_a_record_that_is_there_twice_is_a_hole():
    assert skipped_records([line(4), line(4), line(6)], SEGMENT) is None


def test_a_reader_gives_them_together_between_those_that_are_wanted():
    lines = [line(1), line(2), line(3), line(4, kind="kv", namespace="a", key="b"), line(5), line(6)]
    found = list(RecordReader(skip=SKIP).read(lines, SEGMENT))
    assert places(found) == [3, 4, 6]
    assert [type(each) is SkippedRecords for each in found] == [True, False, True]


def test_what_can_not_be_read_is_reported_for_each_line():
    reader = RecordReader(skip=SKIP)
    found = list(reader.read([line(1), line(2, v=7), Line(3, b"", "torn"), line(4)], SEGMENT))
    assert places(found) == [1, 4]
    assert all(type(each) is Envelope for each in found)
    assert reader.unreadable == {LineProblem.NEWER: 1, LineProblem.DAMAGED: 1}
    assert reader.first_unreadable.number == 2


def test_not_all_lines_are_kept_at_once():
    found = list(RecordReader(skip=SKIP).read([line(seq) for seq in range(1, 1_203)], SEGMENT))
    assert places(found) == [500, 501, 1001, 1002, 1202]
